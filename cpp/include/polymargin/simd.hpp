// Short vectors of the compiler (GCC and Clang vector extensions): one source for every
// instruction set. The build compiles the whole core once per level; the compiler lowers a
// 64-byte pack to one AVX-512, two AVX2 or four SSE/NEON registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace polymargin::simd {

template <class T, int Lanes>
struct PackOf {
    using type [[gnu::vector_size(sizeof(T) * Lanes)]] = T;
};

// A full pack fills a cache line; rows are padded to a multiple of half a pack.
template <class T>
inline constexpr int full_lanes = 64 / sizeof(T);
template <class T>
inline constexpr int half_lanes = 32 / sizeof(T);

template <class T, int Lanes = full_lanes<T>>
using Pack = typename PackOf<T, Lanes>::type;
template <class T>
using HalfPack = Pack<T, half_lanes<T>>;

template <class P>
using lane_type = std::remove_reference_t<decltype(std::declval<P&>()[0])>;
template <class P>
inline constexpr int lanes_of = sizeof(P) / sizeof(lane_type<P>);

template <class T>
constexpr std::size_t padded(std::size_t count) {
    constexpr std::size_t lanes = half_lanes<T>;
    return (count + lanes - 1) / lanes * lanes;
}

template <class P, class T>
[[gnu::always_inline]] inline P load(const T* from) {
    P pack;
    std::memcpy(&pack, from, sizeof(P));
    return pack;
}

template <class P, class T>
[[gnu::always_inline]] inline void store(T* to, P pack) {
    std::memcpy(to, &pack, sizeof(P));
}

template <class P, class T>
[[gnu::always_inline]] inline P splat(T value) {
    return value - P{};
}

template <class P>
[[gnu::always_inline]] inline P max(P a, P b) {
    return a > b ? a : b;
}

template <class P>
[[gnu::always_inline]] inline P min(P a, P b) {
    return a < b ? a : b;
}

template <class P>
[[gnu::always_inline]] inline P clip(P value, P upper) {
    return min(max(value, P{}), upper);
}

// One bit per lane: value > floor.
template <class P, class T>
[[gnu::always_inline]] inline std::uint32_t bits_above(P value, T floor) {
    constexpr int lanes = lanes_of<P>;
    [[maybe_unused]] constexpr bool is_float = std::is_same_v<lane_type<P>, float>;
#ifdef __AVX512VL__
    if constexpr (is_float && lanes == 16) {
        return _mm512_cmp_ps_mask((__m512)value, _mm512_set1_ps(floor), _CMP_GT_OQ);
    } else if constexpr (is_float && lanes == 8) {
        return _mm256_cmp_ps_mask((__m256)value, _mm256_set1_ps(floor), _CMP_GT_OQ);
    } else if constexpr (lanes == 8) {
        return _mm512_cmp_pd_mask((__m512d)value, _mm512_set1_pd(floor), _CMP_GT_OQ);
    } else {
        return _mm256_cmp_pd_mask((__m256d)value, _mm256_set1_pd(floor), _CMP_GT_OQ);
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(P) == 64) {
        Pack<lane_type<P>, lanes / 2> low, high;
        std::memcpy(&low, &value, sizeof(low));
        std::memcpy(&high, reinterpret_cast<const char*>(&value) + sizeof(low), sizeof(high));
        return bits_above(low, floor) | bits_above(high, floor) << (lanes / 2);
    } else if constexpr (is_float) {
        const __m256 above = _mm256_cmp_ps((__m256)value, _mm256_set1_ps(floor), _CMP_GT_OQ);
        return static_cast<std::uint32_t>(_mm256_movemask_ps(above));
    } else {
        const __m256d above = _mm256_cmp_pd((__m256d)value, _mm256_set1_pd(floor), _CMP_GT_OQ);
        return static_cast<std::uint32_t>(_mm256_movemask_pd(above));
    }
#else
    std::uint32_t bits = 0;
    for (int lane = 0; lane < lanes; ++lane) bits |= std::uint32_t{value[lane] > floor} << lane;
    return bits;
#endif
}

// One bit for each of `marked_lanes` numbers: whether it is set in `bits`, 32 to a word.
#ifdef __AVX512VL__
inline constexpr std::size_t marked_lanes = 16;
[[gnu::always_inline]] inline std::uint32_t marked(const std::int32_t* numbers,
                                                   const std::uint32_t* bits) {
    using Words = Pack<std::uint32_t, 16>;
    const Words c = load<Words>(numbers);
    const __m512i words =
        _mm512_mask_i32gather_epi32(__m512i{}, 0xffff, (__m512i)(c >> 5), bits, 4);
    const Words shifted = (Words)words >> (c & 31);
    return _mm512_test_epi32_mask((__m512i)shifted, (__m512i)(Words{} + 1));
}
#elif defined(__AVX2__)
inline constexpr std::size_t marked_lanes = 8;
[[gnu::always_inline]] inline std::uint32_t marked(const std::int32_t* numbers,
                                                   const std::uint32_t* bits) {
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
    const __m256i words =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(bits), _mm256_srli_epi32(c, 5), 4);
    const __m256i from_top =
        _mm256_sub_epi32(_mm256_set1_epi32(31), _mm256_and_si256(c, _mm256_set1_epi32(31)));
    const __m256i shifted = _mm256_sllv_epi32(words, from_top);
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(shifted)));
}
#else
inline constexpr std::size_t marked_lanes = 8;
[[gnu::always_inline]] inline std::uint32_t marked(const std::int32_t* numbers,
                                                   const std::uint32_t* bits) {
    std::uint32_t found = 0;
    for (std::size_t lane = 0; lane < marked_lanes; ++lane) {
        const std::int32_t c = numbers[lane];
        found |= (bits[c >> 5] >> (c & 31) & 1) << lane;
    }
    return found;
}
#endif

// Horizontal reductions halve the pack until one lane is left.
template <class T, int Lanes, class Combine>
[[gnu::always_inline]] inline T reduce(Pack<T, Lanes> pack, Combine combine) {
    if constexpr (Lanes == 1) {
        return pack[0];
    } else {
        Pack<T, Lanes / 2> low, high;
        std::memcpy(&low, &pack, sizeof(low));
        std::memcpy(&high, reinterpret_cast<const char*>(&pack) + sizeof(low), sizeof(high));
        return reduce<T, Lanes / 2>(combine(low, high), combine);
    }
}

// Running reductions over full packs and at most one half pack.
template <class T>
struct Sum {
    Pack<T> full{};
    HalfPack<T> half{};

    [[gnu::always_inline]] void add(Pack<T> part) { full += part; }
    [[gnu::always_inline]] void add(HalfPack<T> part) { half += part; }
    [[gnu::always_inline]] T value() const {
        HalfPack<T> low, high;
        std::memcpy(&low, &full, sizeof(low));
        std::memcpy(&high, reinterpret_cast<const char*>(&full) + sizeof(low), sizeof(high));
        return reduce<T, half_lanes<T>>(low + high + half, [](auto a, auto b) { return a + b; });
    }
};

template <class T>
struct Largest {
    Pack<T> full;
    HalfPack<T> half;

    explicit Largest(T floor) : full(splat<Pack<T>>(floor)), half(splat<HalfPack<T>>(floor)) {}
    [[gnu::always_inline]] void add(Pack<T> part) { full = max(full, part); }
    [[gnu::always_inline]] void add(HalfPack<T> part) { half = max(half, part); }
    [[gnu::always_inline]] T value() const {
        HalfPack<T> low, high;
        std::memcpy(&low, &full, sizeof(low));
        std::memcpy(&high, reinterpret_cast<const char*>(&full) + sizeof(low), sizeof(high));
        return reduce<T, half_lanes<T>>(max(max(low, high), half),
                                        [](auto a, auto b) { return max(a, b); });
    }
};

// Calls body(offset, pack) over `count` lanes, a multiple of half a pack: full packs first, then
// at most one half. The second argument only carries the type.
template <class T, class Body>
[[gnu::always_inline]] inline void for_each_pack(std::size_t count, Body&& body) {
    std::size_t at = 0;
    for (; at + full_lanes<T> <= count; at += full_lanes<T>) body(at, Pack<T>{});
    if (at < count) body(at, HalfPack<T>{});
}

}  // namespace polymargin::simd
