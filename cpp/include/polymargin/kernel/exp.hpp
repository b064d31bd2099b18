// exp of a pack, to an ulp or two.
//
//     x = m ln 2 + r,  |r| <= ln 2 / 2,  exp(x) = 2^m exp(r)
//
// with the Taylor polynomial of exp(r), long enough for the precision. Arguments below the
// range give 0, those above it infinity; NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "polymargin/simd.hpp"

namespace polymargin::simd {

namespace detail {

template <class T>
struct ExpTraits;

template <>
struct ExpTraits<float> {
    using Bits = std::int32_t;
    static constexpr int mantissa = 23, bias = 127, degree = 7;
    static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float high = 0.693359375f, low = -2.12194440e-4f;  // ln 2 in two parts
    static constexpr float least = -87.0f, largest = 88.0f;
};

template <>
struct ExpTraits<double> {
    using Bits = std::int64_t;
    static constexpr int mantissa = 52, bias = 1023, degree = 13;
    static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double high = 6.93145751953125e-1, low = 1.42860682030941723212e-6;
    static constexpr double least = -708.0, largest = 709.0;
};

}  // namespace detail

template <class P>
[[gnu::always_inline]] inline P exp(P x) {
    using T = lane_type<P>;
    using Traits = detail::ExpTraits<T>;
    using Integers = Pack<typename Traits::Bits, lanes_of<P>>;
    constexpr T log2_e = T(1.44269504088896340736);
    const P inside = min(max(x, splat<P>(Traits::least)), splat<P>(Traits::largest));
    const P shifted = inside * log2_e + Traits::round;
    const P m = shifted - Traits::round;
    const P r = (inside - m * Traits::high) - m * Traits::low;
    P sum = splat<P>(T(1));
    for (int term = Traits::degree; term > 0; --term) sum = T(1) + sum * r * (T(1) / T(term));
    const Integers power = std::bit_cast<Integers>(shifted) -
                           std::bit_cast<typename Traits::Bits>(Traits::round) + Traits::bias;
    const P result = sum * std::bit_cast<P>(power << Traits::mantissa);
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const P above = x > Traits::largest ? splat<P>(infinity) : result;
    const P below = x < Traits::least ? P{} : above;
    return x == x ? below : x;
}

}  // namespace polymargin::simd
