// Rows of a svmlight file on their way into a compressed sparse row matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "polymargin/text/growing_buffer.hpp"

namespace polymargin::text {

// Where something stands in a file; both are counted from 1, and 0 means nowhere.
struct Place {
    std::int64_t line = 0, column = 0;
};

struct SvmlightError {
    Place place;
    std::string message;
};

struct SvmlightRows {
    GrowingBuffer<double> values;         // of all entries, row after row
    GrowingBuffer<std::int32_t> indices;  // as many, ascending in each row
    GrowingBuffer<std::int64_t> ends;     // of each row in the two above
    GrowingBuffer<double> labels;         // of each row; NaN where there is none
    GrowingBuffer<std::int64_t> lines;    // of each row

    std::int64_t line_count = 0;       // lines read, also those without a row
    std::int64_t largest_index = -1;   // as written in the file, of the entries kept
    std::int64_t missing_labels = 0;   // rows without a label
    std::int64_t ignored_entries = 0;  // whose index was too large
    bool has_index_zero = false;
    Place at_limit;  // the first index that is too large only if indices start from 0

    std::size_t size() const { return ends.size(); }

    std::int64_t begin(std::size_t row) const { return row == 0 ? 0 : ends[row - 1]; }

    // Some rows of another, without its counts.
    void append_rows(const SvmlightRows& other, std::size_t first, std::size_t count) {
        if (count == 0) return;
        const std::int64_t from = other.begin(first);
        const auto entries = static_cast<std::size_t>(other.ends[first + count - 1] - from);
        const std::int64_t shift = static_cast<std::int64_t>(values.size()) - from;
        const std::size_t row = size();
        values.append(other.values.data() + from, entries);
        indices.append(other.indices.data() + from, entries);
        ends.append(other.ends.data() + first, count);
        labels.append(other.labels.data() + first, count);
        lines.append(other.lines.data() + first, count);
        for (std::size_t i = row; i < size(); ++i) ends[i] += shift;
    }

    // Rows and counts of text that follows.
    void append(const SvmlightRows& next) {
        const std::size_t row = size();
        append_rows(next, 0, next.size());
        for (std::size_t i = row; i < size(); ++i) lines[i] += line_count;
        if (at_limit.line == 0 && next.at_limit.line != 0) {
            at_limit = {next.at_limit.line + line_count, next.at_limit.column};
        }
        line_count += next.line_count;
        largest_index = std::max(largest_index, next.largest_index);
        missing_labels += next.missing_labels;
        ignored_entries += next.ignored_entries;
        has_index_zero = has_index_zero || next.has_index_zero;
    }

    // Forgets everything, keeps the memory.
    void reset() {
        clear_rows();
        line_count = missing_labels = ignored_entries = 0;
        largest_index = -1;
        has_index_zero = false;
        at_limit = {};
    }

    // Forgets the rows, keeps the counts.
    void clear_rows() {
        values.clear();
        indices.clear();
        ends.clear();
        labels.clear();
        lines.clear();
    }

    void swap_rows(SvmlightRows& other) {
        values.swap(other.values);
        indices.swap(other.indices);
        ends.swap(other.ends);
        labels.swap(other.labels);
        lines.swap(other.lines);
    }

    // Removes rows from the front.
    void erase_front(std::size_t rows) {
        if (rows == 0) return;
        const std::int64_t entries = ends[rows - 1];
        values.erase_front(static_cast<std::size_t>(entries));
        indices.erase_front(static_cast<std::size_t>(entries));
        ends.erase_front(rows);
        labels.erase_front(rows);
        lines.erase_front(rows);
        for (std::size_t i = 0; i < size(); ++i) ends[i] -= entries;
    }

    // Removes all entries of that index.
    void drop_index(std::int32_t index) {
        std::size_t kept = 0, entry = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            for (const auto end = static_cast<std::size_t>(ends[i]); entry < end; ++entry) {
                if (indices[entry] == index) {
                    ++ignored_entries;
                    continue;
                }
                indices[kept] = indices[entry];
                values[kept++] = values[entry];
            }
            ends[i] = static_cast<std::int64_t>(kept);
        }
        values.resize(kept);
        indices.resize(kept);
    }
};

}  // namespace polymargin::text
