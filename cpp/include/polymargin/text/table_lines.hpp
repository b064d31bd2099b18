// Lines of a table, cut into cells as long as no rule of CSV is in doubt: every line has as many
// cells as the header, and quotes enclose whole cells without a quote or a line end in them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "polymargin/text/growing_buffer.hpp"
#include "polymargin/text/number.hpp"

namespace polymargin::text {

// What a cell is. The largest of a column tells how all of it can be read.
enum class CellClass : std::uint8_t {
    missing,  // empty, or one of NA, N/A, #N/A, <NA>, nan, ?, null, in any case
    whole,    // a number without a point
    grouped,  // one whose point may also stand before a group of three digits, as in 1.234
    decimal,  // one whose point stands before decimals
    other     // anything else, also numbers that are not finite or written in another manner
};

class TableLines {
public:
    // Cuts the text up to the first line in doubt, or to its end. A zero byte follows the text,
    // which has to outlive this object.
    TableLines(std::string_view text, char delimiter, std::size_t width, std::size_t longest_cell)
        : text_(text), delimiter_(delimiter), width_(width), longest_cell_(longest_cell) {
        for (const char c : {delimiter, '\n', '\r', '"', '\0'}) {
            ends_cell_[static_cast<unsigned char>(c)] = true;
        }
        // Columns lie side by side; an odd distance keeps them apart in the cache.
        const auto n_lines =
            static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
        const std::size_t most_rows = (text.size() + 1) / width + 1;  // a byte behind every cell
        stride_ = std::min(n_lines, most_rows) | 1;
        values_.resize(stride_ * width);
        classes_.resize(stride_ * width);
        starts_.resize(stride_ * (width + 1));
        if (text.size() < std::numeric_limits<std::uint32_t>::max()) cut();
    }

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_bytes() const { return n_bytes_; }  // of the lines that are cut
    std::size_t width() const { return width_; }
    std::size_t stride() const { return stride_; }           // between columns
    const double* values() const { return values_.data(); }  // by column; NaN if not a number
    const CellClass* classes() const { return classes_.data(); }

    // The text of a cell without its quotes.
    std::string_view cell(std::size_t row, std::size_t column) const {
        const std::uint32_t* start = &starts_[row * (width_ + 1) + column];
        std::string_view text = text_.substr(start[0], start[1] - 1 - start[0]);
        return text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
    }

private:
    void cut() {
        const char* p = text_.data();
        const char* const end = p + text_.size();
        while (p < end && cut_line(p, end)) {
            ++n_rows_;
            n_bytes_ = static_cast<std::size_t>(p - text_.data());
        }
    }

    // Moves `p` behind the line; false where it is in doubt.
    bool cut_line(const char*& p, const char* end) {
        std::uint32_t* const starts = starts_.data() + n_rows_ * (width_ + 1);
        for (std::size_t column = 0; column < width_; ++column) {
            const char* const start = p;
            starts[column] = position(p);
            if (!cut_cell(p, column * stride_ + n_rows_)) return false;
            if (static_cast<std::size_t>(p - start) > longest_cell_) return false;
            if (column + 1 == width_) break;
            if (*p != delimiter_) return false;
            ++p;
        }
        starts[width_] = position(p) + 1;
        if (p == end) return true;
        p += *p == '\r';
        return *p++ == '\n';
    }

    std::uint32_t position(const char* p) const {
        return static_cast<std::uint32_t>(p - text_.data());
    }

    // Moves `p` behind the cell; false where a quote is out of place.
    bool cut_cell(const char*& p, std::size_t place) {
        const char* const start = p;
        std::ptrdiff_t decimals;
        if (read_simple_number(p, values_[place], decimals) && ends_cell(*p) && *p != '"') {
            classes_[place] = class_of(start, p, decimals);
            return true;
        }
        p = start;
        if (*p != '"') {
            while (!ends_cell(*p)) ++p;
            classify(start, p, place);
            return *p != '"';
        }
        for (++p; *p != '"'; ++p) {
            if (*p == '\n' || *p == '\r' || *p == '\0') return false;
        }
        classify(start + 1, p++, place);
        return true;
    }

    bool ends_cell(char c) const { return ends_cell_[static_cast<unsigned char>(c)]; }

    void classify(const char* first, const char* last, std::size_t place) {
        const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
        while (first < last && is_blank(*first)) ++first;
        while (first < last && is_blank(last[-1])) --last;
        values_[place] = std::numeric_limits<double>::quiet_NaN();
        classes_[place] = CellClass::missing;
        if (is_missing(first, last)) return;
        classes_[place] = CellClass::other;
        const Number number = read_number(first, last);
        if (number.kind != NumberKind::finite) return;
        values_[place] = number.value;
        const char* const point = std::find(first, last, '.');
        const bool is_digits = std::all_of(point + (point < last), last, is_digit);
        classes_[place] = point == last ? CellClass::whole
                          : is_digits   ? class_of(first, last, last - point - 1)
                                        : CellClass::decimal;
    }

    // A number without an exponent; `decimals` is negative where there is no point.
    static CellClass class_of(const char* first, const char* last, std::ptrdiff_t decimals) {
        if (decimals < 0) return CellClass::whole;
        first += *first == '-' || *first == '+';
        const std::ptrdiff_t before = last - first - decimals - 1;
        return decimals == 3 && before >= 1 && before <= 3 && *first != '0' ? CellClass::grouped
                                                                            : CellClass::decimal;
    }

    static bool is_missing(const char* first, const char* last) {
        const std::string_view text(first, static_cast<std::size_t>(last - first));
        if (text.empty() || text == "?") return true;
        const auto is_letter = [](char a, char b) {
            return a == b || ('a' <= b && b <= 'z' && (a | 0x20) == b);
        };
        return std::ranges::any_of(missing_words, [&](std::string_view word) {
            return std::ranges::equal(text, word, is_letter);
        });
    }

    static constexpr std::array<std::string_view, 6> missing_words = {"na",  "nan",  "null",
                                                                      "n/a", "#n/a", "<na>"};

    std::string_view text_;
    char delimiter_;
    std::size_t width_, longest_cell_;
    std::array<bool, 256> ends_cell_{};
    std::size_t stride_ = 0, n_rows_ = 0, n_bytes_ = 0;
    GrowingBuffer<double> values_;
    GrowingBuffer<CellClass> classes_;
    GrowingBuffer<std::uint32_t>
        starts_;  // by row: of its cells, and one behind the last delimiter
};

}  // namespace polymargin::text
