// f += sum_t x_t u_t, or f = it, over full rows u_t of weights, a tile of classes at a time, whose
// sums stay in registers. The sums may be of higher precision than the weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include "polymargin/simd.hpp"

namespace polymargin {

template <class T, class V>
struct FullTerm {
    const T* u;
    V x;
};

namespace detail {

// `Packs` packs of sums, which begin at f or at 0.
template <bool add, int Packs, class P, class T, class V>
[[gnu::always_inline]] inline void full_tile(std::span<const FullTerm<T, V>> terms, std::size_t at,
                                             V* f) {
    constexpr std::size_t lanes = simd::lanes_of<P>;
    using Stored = simd::Pack<T, static_cast<int>(lanes)>;
    P sums[Packs];
    for (int v = 0; v < Packs; ++v) sums[v] = add ? simd::load<P>(f + at + v * lanes) : P{};
    for (const auto& [u, x] : terms) {
        for (int v = 0; v < Packs; ++v) {
            const Stored stored = simd::load<Stored>(u + at + v * lanes);
            if constexpr (std::is_same_v<T, V>) {
                sums[v] += x * stored;
            } else {
                sums[v] += x * __builtin_convertvector(stored, P);
            }
        }
    }
    for (int v = 0; v < Packs; ++v) simd::store(f + at + v * lanes, sums[v]);
}

}  // namespace detail

#ifdef __AVX512F__
inline constexpr int tile_packs = 16;
#else
inline constexpr int tile_packs = 6;
#endif

// Lanes of a tile.
template <class V>
inline constexpr std::size_t tile_lanes = tile_packs * simd::full_lanes<V>;

// The tile that begins at this lane, or what is left of `size` lanes, a multiple of half a pack.
template <bool add, class T, class V>
void full_tile(std::span<const FullTerm<T, V>> terms, std::size_t at, std::size_t size, V* f) {
    using P = simd::Pack<V>;
    using H = simd::HalfPack<V>;
    if (at + tile_lanes<V> <= size) {
        detail::full_tile<add, tile_packs, P>(terms, at, f);
        return;
    }
    for (; at + simd::full_lanes<V> <= size; at += simd::full_lanes<V>) {
        detail::full_tile<add, 1, P>(terms, at, f);
    }
    for (; at + simd::half_lanes<V> <= size; at += simd::half_lanes<V>) {
        detail::full_tile<add, 1, H>(terms, at, f);
    }
}

template <class T, class V>
void add_full(std::span<const FullTerm<T, V>> terms, std::size_t size, V* f) {
    for (std::size_t at = 0; at < size; at += tile_lanes<V>) full_tile<true>(terms, at, size, f);
}

}  // namespace polymargin
