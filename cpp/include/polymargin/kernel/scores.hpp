// The scores F of all examples in double, one row for each class: f_ic = sum_j K_ij a_jc, not
// centred where the machine is zero-sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/parallel.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

// How the vectors a of some examples changed: entries offsets[e] .. offsets[e + 1] - 1 are those
// of example e.
template <class T>
struct AlphaChanges {
    std::vector<std::size_t> offsets{0};
    std::vector<std::int32_t> classes;
    std::vector<T> values;

    std::size_t size() const { return offsets.size() - 1; }
    bool empty(std::size_t e) const { return offsets[e] == offsets[e + 1]; }
    void clear() {
        offsets.assign(1, 0);
        classes.clear();
        values.clear();
    }
    void add(std::int32_t c, T value) {
        classes.push_back(c);
        values.push_back(value);
    }
    void end_example() { offsets.push_back(classes.size()); }
};

class Scores {
public:
    Scores(std::size_t n, int k) : n_(n), k_(k), values_(n * k) {}

    double* of_class(int c) { return values_.data() + c * n_; }
    const double* of_class(int c) const { return values_.data() + c * n_; }
    int classes() const { return k_; }
    void clear() { std::fill(values_.begin(), values_.end(), 0.0); }

    // The k scores of example i, less their mean if `centred`.
    template <class T>
    void read(std::size_t i, bool centred, T* to, std::ptrdiff_t step = 1) const {
        double mean = 0;
        if (centred) {
            for (int c = 0; c < k_; ++c) mean += of_class(c)[i];
            mean /= k_;
        }
        for (int c = 0; c < k_; ++c) to[c * step] = T(of_class(c)[i] - mean);
    }

    // F += a K for the examples of `changes` listed in `which`, whose kernel rows are those of
    // `rows` in the same order, for `count` columns from `first` on.
    template <class T>
    void add(const AlphaChanges<T>& changes, std::span<const std::int64_t> which,
             std::span<const T* const> rows, std::size_t first, std::size_t count, int threads) {
        for (std::size_t from = 0; from < which.size(); from += group_size<T>) {
            const std::size_t size = std::min(group_size<T>, which.size() - from);
            const ByClass<T> group(changes, which.subspan(from, size), k_);
            add_group(group, rows.subspan(from, size), first, count, threads);
        }
    }

private:
    // So many kernel rows, a pack of columns of each, fill most of the first-level cache.
    template <class T>
    static constexpr std::size_t group_size = (std::size_t{1} << 15) / sizeof(simd::Pack<T>);

    // Changes of a group of examples, listed by class.
    template <class T>
    struct ByClass {
        ByClass(const AlphaChanges<T>& changes, std::span<const std::int64_t> which, int k)
            : offsets(k + 1) {
            const auto for_each = [&](auto&& body) {
                for (std::size_t r = 0; r < which.size(); ++r) {
                    const std::size_t end = changes.offsets[which[r] + 1];
                    for (std::size_t e = changes.offsets[which[r]]; e < end; ++e) {
                        body(static_cast<std::uint32_t>(r), changes.classes[e], changes.values[e]);
                    }
                }
            };
            for_each([&](std::uint32_t, std::int32_t c, T) { ++offsets[c + 1]; });
            std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
            entries.resize(offsets.back());
            std::vector<std::size_t> next(offsets.begin(), offsets.end() - 1);
            for_each(
                [&](std::uint32_t r, std::int32_t c, T value) { entries[next[c]++] = {r, value}; });
        }

        struct Entry {
            std::uint32_t row;
            T value;
        };
        std::vector<std::size_t> offsets;
        std::vector<Entry> entries;
    };

    // A pack of columns at a time: its kernel values are brought together once and then read for
    // every class. Lines of the packs that follow are asked for meanwhile.
    template <class T>
    void add_group(const ByClass<T>& group, std::span<const T* const> rows, std::size_t first,
                   std::size_t count, int threads) {
        using P = simd::Pack<T>;
        constexpr std::size_t lanes = simd::full_lanes<T>, piece = 64 * lanes;
        parallel_for(threads, (count + piece - 1) / piece, [&](std::size_t part) {
            std::vector<P> packed(rows.size());
            const std::size_t end = std::min(count, (part + 1) * piece);
            for (std::size_t at = part * piece; at < end; at += lanes) {
                const std::size_t width = std::min(lanes, end - at);
                for (std::size_t r = 0; r < rows.size(); ++r) {
                    if (width == lanes) {
                        packed[r] = simd::load<P>(rows[r] + at);
                        __builtin_prefetch(rows[r] + at + 4 * lanes, 0, 2);
                    } else {
                        packed[r] = P{};
                        std::memcpy(&packed[r], rows[r] + at, width * sizeof(T));
                    }
                }
                for (int c = 0; c < k_; ++c) {
                    const P sum = sum_of(group, c, packed.data());
                    double* scores = of_class(c) + first + at;
                    for (std::size_t lane = 0; lane < width; ++lane) scores[lane] += sum[lane];
                }
            }
        });
    }

    template <class T>
    [[gnu::always_inline]] static simd::Pack<T> sum_of(const ByClass<T>& group, int c,
                                                       const simd::Pack<T>* packed) {
        simd::Pack<T> sums[4] = {};
        std::size_t e = group.offsets[c];
        const std::size_t end = group.offsets[c + 1];
        for (; e + 4 <= end; e += 4) {
            for (int u = 0; u < 4; ++u) {
                const auto [row, value] = group.entries[e + u];
                sums[u] += value * packed[row];
            }
        }
        for (; e < end; ++e) sums[0] += group.entries[e].value * packed[group.entries[e].row];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    std::size_t n_;
    int k_;
    std::vector<double> values_;
};

}  // namespace polymargin
