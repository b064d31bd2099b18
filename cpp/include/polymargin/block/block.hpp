// The block problem: all dual variables of one example, everything else fixed. In the scaled
// variables b = q beta, q = |x_i|^2, with z = g + b_old and B = s^T b_old it reads, for every
// machine,
//
//     min_b 1/2 (|b|^2 + rho (s^T b)^2) - (z + rho s B)^T b
//
// over the box 0 <= b_c <= upper_c or the simplex b >= 0, sum_c b_c <= capacity. Its solution
// depends on the k variables through two thresholds only,
//
//     b_c = clip(z_c - other),   b_y = clip(z_y - own),
//
// so a solver returns these two numbers, and one vector pass applies them. A solver that does not
// work with thresholds overwrites z by the new b and returns (0, 0).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "polymargin/simd.hpp"

namespace polymargin {

template <class T>
struct Block {
    T* z;           // of the other classes; lanes without a variable lie far below all others
    const T* beta;  // their current values, b_old = q beta
    T q;
    std::size_t size;    // number of lanes, padded
    int count;           // number of lanes in use
    int k;               // number of classes
    T z_own, b_own;      // of the own class
    T upper, upper_own;  // bounds of one variable; infinite in a simplex, 0 where there is none
    T capacity;          // of a simplex; infinite in a box
    T rho;
    T total;  // B = s^T b_old
    bool simplex;
    // For a solver that starts at s^T b = B: sum_c clip(z_c) - clip(z_y) - B and the number of
    // free variables there. Boxes only.
    T imbalance;
    int free;
    // Simplex only: z and z_own are given less `offset`, about max_c z_c, so that small b survive
    // beside large gradients; thresholds are less the offset, too.
    T largest;  // max_c z_c, less the offset
    T lowest;   // a bound of the threshold from below, less the offset
    T offset;
    // The other classes that have no lanes: `count` variables of this z and b_old each.
    struct {
        int count;
        T z, b;
    } group{};

    T clip_own(T value) const { return std::clamp(value, T(0), upper_own); }
};

template <class T>
struct Thresholds {
    T other, own;
};

struct ClippedSums {
    double sum;
    int free;
};

// sum_c clip(z_c - shift, 0, upper) and the number of free variables. Lanes are summed in T over
// a few packs and then in double: for rho = -1/k the root function's slope can be as small as 1/k.
template <class T>
inline ClippedSums clipped_sums(const T* z, std::size_t size, T shift, T upper) {
    constexpr std::size_t chunk = 8 * simd::full_lanes<T>;
    ClippedSums total{0, 0};
    for (std::size_t begin = 0; begin < size; begin += chunk) {
        simd::Sum<T> sum;
        simd::for_each_pack<T>(std::min(chunk, size - begin), [&]<class P>(std::size_t at, P) {
            const P value = simd::load<P>(z + begin + at) - shift;
            sum.add(simd::clip(value, simd::splat<P>(upper)));
            const P inside = simd::min(value, upper - value);
            total.free += std::popcount(simd::bits_above(inside, T(0)));
        });
        total.sum += sum.value();
    }
    return total;
}

// The same with the classes of the group.
template <class T>
inline ClippedSums clipped_sums(const Block<T>& block, T shift) {
    ClippedSums total = clipped_sums(block.z, block.size, shift, block.upper);
    if (block.group.count) [[unlikely]] {
        const T value = block.group.z - shift;
        total.sum += block.group.count * double(std::clamp(value, T(0), block.upper));
        if (value > 0 && value < block.upper) total.free += block.group.count;
    }
    return total;
}

}  // namespace polymargin
