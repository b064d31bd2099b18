// MurmurHash3 of 32 bits, which Austin Appleby has put into the public domain.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace polymargin::text {

// With the seed 0.
inline std::uint32_t murmur(const char* bytes, std::size_t size) {
    const auto mix = [](std::uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
    std::uint32_t h = 0;
    const char* const tail = bytes + (size & ~std::size_t{3});
    for (; bytes < tail; bytes += 4) {
        std::uint32_t k;
        std::memcpy(&k, bytes, 4);
        h = std::rotl(h ^ mix(k), 13) * 5 + 0xe6546b64u;
    }
    const auto byte = [&](int i) {
        return std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    };
    switch (size & 3) {
        case 3: h ^= mix(byte(0) | byte(1) | byte(2)); break;
        case 2: h ^= mix(byte(0) | byte(1)); break;
        case 1: h ^= mix(byte(0)); break;
        default: break;
    }
    h ^= static_cast<std::uint32_t>(size);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

}  // namespace polymargin::text
