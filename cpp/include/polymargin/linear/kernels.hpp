// The two loops that cost the time: scores of one row and its update of the weights. They take the
// row by value: a reference might alias the weights, and its pointers would be loaded anew each
// step.
#pragma once

#include <algorithm>
#include <span>

#include "polymargin/block/example.hpp"
#include "polymargin/linear/weights.hpp"
#include "polymargin/simd.hpp"

namespace polymargin::kernels {

// f[0 .. lanes) = start + sum_p x_p U[j_p][0 .. lanes) for Full packs and a half, kept in
// registers. Few registers per row leave the sum waiting for itself, so several are kept apart.
template <int Full, bool Half, class T, class Row>
[[gnu::always_inline]] inline void scores_fixed(const Row row, const T* weights, std::size_t stride,
                                                const T* start, T* f) {
    using F = simd::Pack<T>;
    using H = simd::Pack<T, simd::half_lanes<T>>;
    constexpr int ways = 2 * Full + Half <= 3 ? 4 : 2 * Full + Half <= 6 ? 2 : 1;
    F full[ways][Full > 0 ? Full : 1]{};
    H half[ways]{};
    const auto step = [&](std::size_t p, int way) __attribute__((always_inline)) {
        const T x = row.value(p);
        const T* u = weights + row.index(p) * stride;
        for (int v = 0; v < Full; ++v) {
            full[way][v] += x * simd::load<F>(u + v * simd::full_lanes<T>);
        }
        if constexpr (Half) half[way] += x * simd::load<H>(u + Full * simd::full_lanes<T>);
    };
    std::size_t p = 0;
    for (; p + ways <= row.size(); p += ways) {
#pragma GCC unroll 4
        for (int way = 0; way < ways; ++way) step(p + way, way);
    }
    for (; p < row.size(); ++p) step(p, 0);
    for (int way = 1; way < ways; ++way) {
        for (int v = 0; v < Full; ++v) full[0][v] += full[way][v];
        half[0] += half[way];
    }
    for (int v = 0; v < Full; ++v) {
        const int at = v * simd::full_lanes<T>;
        simd::store(f + at, start ? simd::load<F>(start + at) + full[0][v] : full[0][v]);
    }
    if constexpr (Half) {
        const int at = Full * simd::full_lanes<T>;
        simd::store(f + at, start ? simd::load<H>(start + at) + half[0] : half[0]);
    }
}

#ifdef __AVX512F__
inline constexpr int block_packs = 8;
#else
inline constexpr int block_packs = 4;
#endif

// f = start + sum_p x_p U[j_p] over all classes, in blocks that fit the registers; start may be
// null.
template <class T, class Row>
inline void scores(const Row row, const Weights<T>& weights, const T* start, T* f) {
    const std::size_t stride = weights.stride();
    const T* u = weights.row(0);
    std::size_t left = stride / simd::half_lanes<T>;
    while (left >= 2 * block_packs) {
        constexpr std::size_t lanes = block_packs * simd::full_lanes<T>;
        scores_fixed<block_packs, false>(row, u, stride, start, f);
        u += lanes;
        f += lanes;
        if (start) start += lanes;
        left -= 2 * block_packs;
    }
    switch (left) {
        case 0: break;
        case 1: scores_fixed<0, true>(row, u, stride, start, f); break;
        case 2: scores_fixed<1, false>(row, u, stride, start, f); break;
        case 3: scores_fixed<1, true>(row, u, stride, start, f); break;
        case 4: scores_fixed<2, false>(row, u, stride, start, f); break;
        case 5: scores_fixed<2, true>(row, u, stride, start, f); break;
        case 6: scores_fixed<3, false>(row, u, stride, start, f); break;
        case 7: scores_fixed<3, true>(row, u, stride, start, f); break;
#ifdef __AVX512F__
        case 8: scores_fixed<4, false>(row, u, stride, start, f); break;
        case 9: scores_fixed<4, true>(row, u, stride, start, f); break;
        case 10: scores_fixed<5, false>(row, u, stride, start, f); break;
        case 11: scores_fixed<5, true>(row, u, stride, start, f); break;
        case 12: scores_fixed<6, false>(row, u, stride, start, f); break;
        case 13: scores_fixed<6, true>(row, u, stride, start, f); break;
        case 14: scores_fixed<7, false>(row, u, stride, start, f); break;
        case 15: scores_fixed<7, true>(row, u, stride, start, f); break;
#endif
        default: __builtin_unreachable();
    }
}

// f[0 .. k), padded, in double, whatever the precision of the weights.
template <class T, class Row>
inline void scores_in_double(const Row row, const Weights<T>& weights, bool bias, double* f) {
    const std::size_t k = weights.classes();
    const T* last = weights.row(weights.features() - 1);
    if constexpr (std::is_same_v<T, double>) return scores(row, weights, bias ? last : nullptr, f);
    for (std::size_t c = 0; c < k; ++c) f[c] = bias ? double(last[c]) : 0.0;
    for (std::size_t p = 0; p < row.size(); ++p) {
        const double x = row.value(p);
        const T* u = weights.row(row.index(p));
        for (std::size_t c = 0; c < k; ++c) f[c] += x * double(u[c]);
    }
}

// U[j_p] += x_p delta for the lanes first <= c < last, multiples of half a pack; with a bias, the
// last row of U is that of a feature 1.
template <class T, class Row>
inline void add_outer(const Row row, const T* delta, Weights<T>& weights, bool bias,
                      std::size_t first, std::size_t last) {
    const std::size_t stride = weights.stride();
    T* base = weights.row(0) + first;
    T* constant = weights.row(weights.features() - 1) + first;
    simd::for_each_pack<T>(last - first, [&]<class P>(std::size_t at, P) {
        const P step = simd::load<P>(delta + first + at);
        T* u = base + at;
        for (std::size_t p = 0; p < row.size(); ++p) {
            T* to = u + row.index(p) * stride;
            simd::store(to, simd::load<P>(to) + row.value(p) * step);
        }
        if (bias) simd::store(constant + at, simd::load<P>(constant + at) + step);
    });
}

// The same for the few classes that changed.
template <class T, class Row>
inline void add_outer(const Row row, std::span<const Change<T>> changes, Weights<T>& weights,
                      bool bias, std::size_t first, std::size_t last) {
    const std::size_t stride = weights.stride();
    T* base = weights.row(0);
    T* constant = weights.row(weights.features() - 1);
    for (const Change<T>& change : changes) {
        const auto c = static_cast<std::size_t>(change.c);
        if (c < first || c >= last) continue;
        for (std::size_t p = 0; p < row.size(); ++p) {
            base[row.index(p) * stride + c] += row.value(p) * change.delta;
        }
        if (bias) constant[c] += change.delta;
    }
}

// f[at] = (U^T x)[classes[at]] for a few classes.
template <class T, class Row>
inline void scores_of(const Row row, const Weights<T>& weights, bool bias,
                      std::span<const std::int32_t> classes, T* f) {
    const std::size_t stride = weights.stride(), count = classes.size();
    const T* base = weights.row(0);
    const T* start = weights.row(weights.features() - 1);
    for (std::size_t at = 0; at < count; ++at) f[at] = bias ? start[classes[at]] : T(0);
    for (std::size_t p = 0; p < row.size(); ++p) {
        const T* u = base + row.index(p) * stride;
        const T x = row.value(p);
        for (std::size_t at = 0; at < count; ++at) f[at] += x * u[classes[at]];
    }
}

}  // namespace polymargin::kernels
