// What characters are, as a table of all code points tells, and how they are written in UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polymargin::text {

// An entry of the table: the small letter of a character, and what that is.
struct Character {
    static constexpr std::size_t count = 0x110000;
    static constexpr std::uint32_t is_word = 1u << 21;   // a letter, a digit or an underscore
    static constexpr std::uint32_t is_space = 1u << 22;  // separates words
    static constexpr std::uint32_t in_doubt = 1u << 23;  // depends on others, or is several; alone

    static std::uint32_t point(std::uint32_t entry) { return entry & (is_word - 1); }
};

// Writes a character of at most four bytes; returns behind it.
inline char* put_utf_8(std::uint32_t point, char* out) {
    const auto put = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (point < 0x80) {
        put(point);
        return out;
    }
    if (point < 0x800) {
        put(0xc0 | point >> 6);
    } else {
        if (point < 0x10000) {
            put(0xe0 | point >> 12);
        } else {
            put(0xf0 | point >> 18);
            put(0x80 | (point >> 12 & 0x3f));
        }
        put(0x80 | (point >> 6 & 0x3f));
    }
    put(0x80 | (point & 0x3f));
    return out;
}

}  // namespace polymargin::text
