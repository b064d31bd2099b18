// Decimal numbers in text. The result is the nearest double, whatever the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#endif

namespace polymargin::text {

enum class NumberKind { finite, too_large, not_finite, none };

struct Number {
    NumberKind kind;
    double value;
};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// 10^p for p <= 22 is a double; so is every integer up to 2^53. Their quotient is rounded once.
inline constexpr double exact_powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Reads what most numbers look like: at most 18 digits with or without a point, no exponent. The
// text goes on after `p` with something that is no digit. Sets `p` behind the number, or returns
// false and leaves it. `decimals` counts the digits behind the point, -1 without a point.
inline bool read_simple_number(const char*& p, double& value, std::ptrdiff_t& decimals) {
    const char* cursor = p;
    const bool negative = *cursor == '-';
    cursor += negative || *cursor == '+';
    const char* first = cursor;
    std::uint64_t mantissa = 0;
    for (; is_digit(*cursor); ++cursor) mantissa = 10 * mantissa + (*cursor - '0');
    auto digits = cursor - first;
    decimals = -1;
    if (*cursor == '.') {
        const char* point = cursor++;
        for (; is_digit(*cursor); ++cursor) mantissa = 10 * mantissa + (*cursor - '0');
        decimals = cursor - point - 1;
        digits += decimals;
    }
    if (digits < 1 || digits > 18 || mantissa > (std::uint64_t{1} << 53)) return false;
    value = static_cast<double>(mantissa);
    if (decimals > 0) value /= exact_powers_of_ten[decimals];
    if (negative) value = -value;
    p = cursor;
    return true;
}

inline bool read_simple_number(const char*& p, double& value) {
    std::ptrdiff_t decimals;
    return read_simple_number(p, value, decimals);
}

// Whether the decimal number, known not to fit a double, is too small rather than too large.
inline bool is_tiny(const char* first, const char* last) {
    std::int64_t magnitude = 0;  // the number is 0.d... * 10^magnitude with d > 0
    bool behind_point = false, leading = true;
    const char* p = first;
    for (; p < last && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.') {
            behind_point = true;
        } else if (is_digit(*p)) {
            leading = leading && *p == '0';
            if (leading) {
                magnitude -= behind_point;
            } else {
                magnitude += !behind_point;
            }
        }
    }
    std::int64_t exponent = 0;
    bool negative = false;
    for (; p < last; ++p) {
        negative = negative || *p == '-';
        if (is_digit(*p)) exponent = std::min<std::int64_t>(10 * exponent + (*p - '0'), 1LL << 60);
    }
    return magnitude + (negative ? -exponent : exponent) < 0;
}

// All of [first, last) as a number.
inline Number read_number(const char* first, const char* last) {
    const char* start = first + (first < last && *first == '+');
    if (start < last && start != first && !is_digit(*start) && *start != '.') {
        return {NumberKind::none, 0};  // as in "+-1"
    }
    double value = 0;
#if defined(__cpp_lib_to_chars)
    const auto [stop, error] = std::from_chars(start, last, value);
    if (stop != last || error == std::errc::invalid_argument) return {NumberKind::none, 0};
    if (error == std::errc::result_out_of_range) {
        if (!is_tiny(start, last)) return {NumberKind::too_large, 0};
        value = *start == '-' ? -0.0 : 0.0;
    }
#else
    if (start == last || !std::all_of(start, last, [](char c) {
            return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
        })) {
        return {NumberKind::none, 0};
    }
    std::istringstream stream(std::string(start, last));
    stream.imbue(std::locale::classic());
    stream >> value;
    if (stream.fail() && std::abs(value) > 1) return {NumberKind::too_large, 0};
    if (stream.fail() && !is_tiny(start, last)) return {NumberKind::none, 0};
    if (!stream.fail() && stream.peek() != std::char_traits<char>::eof()) {
        return {NumberKind::none, 0};
    }
#endif
    return {std::isfinite(value) ? NumberKind::finite : NumberKind::not_finite, value};
}

}  // namespace polymargin::text
