// What kernels without a dense matrix product are made from: blocks of inner products or of L1
// distances, a pack of rows on the left against all rows on the right.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "polymargin/parallel.hpp"
#include "polymargin/rows.hpp"
#include "polymargin/simd.hpp"

namespace polymargin::kernel {

// A pack of rows, transposed: feature j of all of them is contiguous.
template <class T>
class PackedRows {
public:
    using P = simd::Pack<T>;
    static constexpr std::size_t lanes = simd::full_lanes<T>;

    template <class Rows>
    PackedRows(const Rows& rows, std::size_t first, std::size_t count)
        : values_(rows.features() * lanes) {
        std::vector<T> scratch(rows.scratch_size());
        for (std::size_t lane = 0; lane < count; ++lane) {
            const auto row = rows.row(first + lane, scratch.data());
            for (std::size_t p = 0; p < row.size(); ++p) {
                values_[row.index(p) * lanes + lane] += row.value(p);
            }
        }
    }

    P feature(std::size_t j) const { return simd::load<P>(values_.data() + j * lanes); }

    P absolute_sums() const {
        P sum{};
        for (std::size_t at = 0; at < values_.size(); at += lanes) {
            const P value = simd::load<P>(values_.data() + at);
            sum += simd::max(value, -value);
        }
        return sum;
    }

private:
    std::vector<T> values_;
};

template <class T>
struct InnerProduct {
    explicit InnerProduct(const PackedRows<T>& left) : left(left) {}

    template <class Row>
    simd::Pack<T> operator()(const Row& right) const {
        simd::Pack<T> sum{};
        for (std::size_t p = 0; p < right.size(); ++p) {
            sum += right.value(p) * left.feature(right.index(p));
        }
        return sum;
    }

    const PackedRows<T>& left;
};

// |x - z|_1 = |z|_1 + sum_j (|x_j - z_j| - |z_j|) over the entries of x. An entry that is listed
// twice would count twice: entries of a row are distinct.
template <class T>
struct ManhattanDistance {
    explicit ManhattanDistance(const PackedRows<T>& left)
        : left(left), sums(left.absolute_sums()) {}

    template <class Row>
    simd::Pack<T> operator()(const Row& right) const {
        using P = simd::Pack<T>;
        P sum{}, seen{};
        for (std::size_t p = 0; p < right.size(); ++p) {
            const P z = left.feature(right.index(p)), difference = right.value(p) - z;
            sum += simd::max(difference, -difference);
            seen += simd::max(z, -z);
        }
        return simd::max(sum + (sums - seen), P{});
    }

    const PackedRows<T>& left;
    simd::Pack<T> sums;
};

// Rows of any kind, a pack at a time.
template <class T>
struct Packs {
    template <class Rows>
    explicit Packs(const Rows& rows)
        : n(rows.size()), at([&rows](std::size_t first, std::size_t count) {
              return PackedRows<T>(rows, first, count);
          }) {}

    std::size_t n;
    std::function<PackedRows<T>(std::size_t first, std::size_t count)> at;
};

// out (left.n, right.size()), rows `stride` apart.
template <template <class> class Measure, class Right, class T>
void fill(const Packs<T>& left, const Right& right, T* out, std::size_t stride, int threads) {
    constexpr std::size_t lanes = PackedRows<T>::lanes;
    const std::size_t m = left.n, n = right.size(), packs = (m + lanes - 1) / lanes;
    const std::size_t pieces = packs >= std::size_t(4 * threads) ? 1 : threads;
    parallel_for(threads, packs * pieces, [&](std::size_t part) {
        const std::size_t first = part / pieces * lanes, piece = part % pieces;
        const std::size_t count = std::min(lanes, m - first);
        const PackedRows<T> rows = left.at(first, count);
        const Measure<T> measure(rows);
        std::vector<T> scratch(right.scratch_size());
        for (std::size_t j = n * piece / pieces; j < n * (piece + 1) / pieces; ++j) {
            const simd::Pack<T> values = measure(right.row(j, scratch.data()));
            for (std::size_t lane = 0; lane < count; ++lane) {
                out[(first + lane) * stride + j] = values[lane];
            }
        }
    });
}

}  // namespace polymargin::kernel
