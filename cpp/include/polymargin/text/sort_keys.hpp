// Ascending order for a few or very many 32-bit keys that are spread like hashes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "polymargin/text/growing_buffer.hpp"

namespace polymargin::text {

using Keys = GrowingBuffer<std::uint32_t>;

// Moves keys to `other` by `digits` bits of them, those alike in the order they come in.
inline void sort_by_digits(const Keys& keys, Keys& other, int shift, int digits) {
    std::array<std::uint32_t, 1024> places;
    const std::uint32_t last = (1u << digits) - 1;
    std::fill_n(places.data(), last + 1, 0);
    const std::size_t n = keys.size();
    for (std::size_t i = 0; i < n; ++i) ++places[keys[i] >> shift & last];
    std::uint32_t before = 0;
    for (std::uint32_t digit = 0; digit <= last; ++digit) {
        const std::uint32_t count = places[digit];
        places[digit] = before;
        before += count;
    }
    for (std::size_t i = 0; i < n; ++i) other[places[keys[i] >> shift & last]++] = keys[i];
}

// Where few keys are far from their place.
inline void sort_nearly_sorted(Keys& keys) {
    for (std::size_t i = 1; i < keys.size(); ++i) {
        const std::uint32_t key = keys[i];
        std::size_t place = i;
        for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

// Sorts fewer than 2^32 keys below 2^`bits`. `other` is memory to work in.
inline void sort_keys(Keys& keys, Keys& other, int bits) {
    constexpr int most_digits = 10;
    constexpr std::size_t few = 16, many = 4096;
    const std::size_t n = keys.size();
    if (n > few) {
        other.resize(n);
        if (n > many) {
            for (int shift = 0; shift < bits; shift += most_digits) {
                sort_by_digits(keys, other, shift, most_digits);
                keys.swap(other);
            }
            return;
        }
        // About as many values of the first digits as keys.
        const int digits = std::min({static_cast<int>(std::bit_width(n)), most_digits, bits});
        sort_by_digits(keys, other, bits - digits, digits);
        keys.swap(other);
    }
    sort_nearly_sorted(keys);
}

}  // namespace polymargin::text
