// Scores in double: f_ic = sum_j K_ij a_jc, not centred where the machine is zero-sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/kernel/alpha_changes.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

// The k scores of each of some examples, wherever they were computed.
struct ScoreRows {
    const double* values;
    std::ptrdiff_t by_example, by_class;
    int k;

    // Those of example i, less their mean if `centred`.
    template <class T>
    void read(std::size_t i, bool centred, T* to, std::ptrdiff_t step = 1) const {
        const double* from = values + static_cast<std::ptrdiff_t>(i) * by_example;
        double mean = 0;
        if (centred) {
            for (int c = 0; c < k; ++c) mean += from[c * by_class];
            mean /= k;
        }
        for (int c = 0; c < k; ++c) to[c * step] = T(from[c * by_class] - mean);
    }
};

// The scores F of n examples in the caller's memory, one row for each class.
class Scores {
public:
    Scores(double* values, std::size_t n, int k) : values_(values), n_(n), k_(k) {}

    ScoreRows rows() const { return {values_, 1, static_cast<std::ptrdiff_t>(n_), k_}; }

    // F += a K for `which` of the changes, whose kernel rows are those of `rows` in the same order,
    // for `count` columns from `first` on.
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
    static constexpr std::size_t stripe_packs = 4;

    template <class T>
    struct Stripe {
        simd::Pack<T> packs[stripe_packs];

        [[gnu::always_inline]] void add(T factor, const Stripe& other) {
            for (std::size_t p = 0; p < stripe_packs; ++p) packs[p] += factor * other.packs[p];
        }
    };

    // So many kernel rows, a stripe of each, fill most of the first-level cache.
    template <class T>
    static constexpr std::size_t group_size = (std::size_t{1} << 15) / sizeof(Stripe<T>);

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

    // A stripe of columns at a time: its kernel values are brought together once and then read for
    // every class. Lines of the stripe that follows are asked for meanwhile.
    template <class T>
    void add_group(const ByClass<T>& group, std::span<const T* const> rows, std::size_t first,
                   std::size_t count, int threads) {
        constexpr std::size_t columns = stripe_packs * simd::full_lanes<T>, piece = 16 * columns;
        parallel_for(threads, (count + piece - 1) / piece, [&](std::size_t part) {
            std::vector<Stripe<T>> packed(rows.size());
            const std::size_t end = std::min(count, (part + 1) * piece);
            for (std::size_t at = part * piece; at < end; at += columns) {
                const std::size_t width = std::min(columns, end - at);
                for (std::size_t r = 0; r < rows.size(); ++r) {
                    packed[r] = read_stripe(rows[r] + at, width);
                }
                for (int c = 0; c < k_; ++c) {
                    const Stripe<T> sum = sum_of(group, c, packed.data());
                    add_stripe(sum, values_ + c * n_ + first + at, width);
                }
            }
        });
    }

    template <class T>
    [[gnu::always_inline]] static Stripe<T> read_stripe(const T* from, std::size_t width) {
        constexpr std::size_t lanes = simd::full_lanes<T>;
        Stripe<T> stripe{};
        if (width < stripe_packs * lanes) {
            std::memcpy(&stripe, from, width * sizeof(T));
            return stripe;
        }
        for (std::size_t p = 0; p < stripe_packs; ++p) {
            stripe.packs[p] = simd::load<simd::Pack<T>>(from + p * lanes);
            __builtin_prefetch(from + (p + stripe_packs) * lanes, 0, 2);
        }
        return stripe;
    }

    template <class T>
    [[gnu::always_inline]] static Stripe<T> sum_of(const ByClass<T>& group, int c,
                                                   const Stripe<T>* packed) {
        Stripe<T> even{}, odd{};
        std::size_t e = group.offsets[c];
        const std::size_t end = group.offsets[c + 1];
        for (; e + 2 <= end; e += 2) {
            even.add(group.entries[e].value, packed[group.entries[e].row]);
            odd.add(group.entries[e + 1].value, packed[group.entries[e + 1].row]);
        }
        if (e < end) even.add(group.entries[e].value, packed[group.entries[e].row]);
        even.add(T(1), odd);
        return even;
    }

    template <class T>
    [[gnu::always_inline]] static void add_stripe(const Stripe<T>& sum, double* scores,
                                                  std::size_t width) {
        constexpr std::size_t lanes = simd::full_lanes<T>;
        if (width < stripe_packs * lanes) {
            for (std::size_t j = 0; j < width; ++j) scores[j] += sum.packs[j / lanes][j % lanes];
            return;
        }
        for (std::size_t p = 0; p < stripe_packs; ++p) {
            for (std::size_t j = 0; j < lanes; ++j) scores[p * lanes + j] += sum.packs[p][j];
        }
    }

    double* values_;
    std::size_t n_;
    int k_;
};

// Compiled in cpp/src/kernel.cpp.
extern template void Scores::add(const AlphaChanges<float>&, std::span<const std::int64_t>,
                                 std::span<const float* const>, std::size_t, std::size_t, int);
extern template void Scores::add(const AlphaChanges<double>&, std::span<const std::int64_t>,
                                 std::span<const double* const>, std::size_t, std::size_t, int);

}  // namespace polymargin
