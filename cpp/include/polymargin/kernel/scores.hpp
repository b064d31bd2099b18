// The scores F of all examples in double, one row for each class: f_ic = sum_j K_ij a_jc, not
// centred where the machine is zero-sum.
#pragma once

#include <algorithm>
#include <cstdint>
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
        // The kernel streams through once; the sums of a tile stay in the cache.
        constexpr std::size_t lanes = simd::full_lanes<T>;
        const std::size_t room = (std::size_t{1} << 13) / k_ / lanes * lanes;
        const std::size_t tile = std::clamp<std::size_t>(room, 4 * lanes, 2048);
        parallel_for(threads, (count + tile - 1) / tile, [&](std::size_t part) {
            const std::size_t from = part * tile, width = std::min(tile, count - from);
            std::vector<T> sums(tile * k_);
            for (std::size_t r = 0; r < which.size(); ++r) {
                const T* row = rows[r] + from;
                if (r + 2 < which.size()) prefetch(rows[r + 2] + from, width);
                const std::size_t end = changes.offsets[which[r] + 1];
                for (std::size_t e = changes.offsets[which[r]]; e < end; ++e) {
                    const T value = changes.values[e];
                    T* sum = sums.data() + changes.classes[e] * tile;
                    for (std::size_t at = 0; at < width; ++at) sum[at] += value * row[at];
                }
            }
            for (int c = 0; c < k_; ++c) {
                double* scores = of_class(c) + first + from;
                const T* sum = sums.data() + c * tile;
                for (std::size_t at = 0; at < width; ++at) scores[at] += sum[at];
            }
        });
    }

private:
    template <class T>
    [[gnu::always_inline]] static void prefetch(const T* from, std::size_t width) {
        for (std::size_t at = 0; at < width; at += simd::full_lanes<T>) {
            __builtin_prefetch(from + at);
        }
    }

    std::size_t n_;
    int k_;
    std::vector<double> values_;
};

}  // namespace polymargin
