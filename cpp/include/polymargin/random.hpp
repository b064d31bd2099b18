// A small, fast generator (xorshift128+ seeded by splitmix64) whose sequence is the same on every
// platform, unlike those of the standard library's distributions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace polymargin {

class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15u;
            std::uint64_t x = seed;
            x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
            x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
            word = x ^ (x >> 31);
        }
    }

    std::uint64_t next() {
        std::uint64_t x = state_[0];
        const std::uint64_t y = state_[1];
        state_[0] = y;
        x ^= x << 23;
        state_[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
        return state_[1] + y;
    }

    // Uniform in [0, bound), bound < 2^32, by multiplication.
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
    }

    template <class U>
    void shuffle(std::span<U> items) {
        for (std::size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
        }
    }

private:
    std::uint64_t state_[2];
};

}  // namespace polymargin
