// svmlight text, in pieces of any length, into a compressed sparse row matrix. The text itself is
// never held but for a line that is not complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polymargin/parallel.hpp"
#include "polymargin/text/svmlight_line.hpp"
#include "polymargin/text/svmlight_rows.hpp"

namespace polymargin::text {

class SvmlightParser {
public:
    SvmlightParser(const SvmlightOptions& options, int threads, std::size_t longest_line)
        : options_(options), threads_(threads), longest_line_(longest_line) {}

    const SvmlightOptions& options() const { return options_; }
    const SvmlightRows& rows() const { return rows_; }
    std::size_t available() const { return rows_.size() - taken_; }  // rows read and not taken

    // More text. An error ends the file: nothing may be fed afterwards.
    std::optional<SvmlightError> feed(const char* text, std::size_t size) {
        rows_.erase_front(std::exchange(taken_, 0));
        const char* const end = text + size;
        const char* rest = end;
        while (rest > text && rest[-1] != '\n') --rest;
        if (rest == text) return keep(text, end);
        if (partial_.size() > 0) {
            const char* next = static_cast<const char*>(std::memchr(text, '\n', size)) + 1;
            if (auto error = keep(text, next)) return error;
            if (auto error = read_partial()) return error;
            text = next;
        }
        if (auto error = read(text, static_cast<std::size_t>(rest - text))) return error;
        return keep(rest, end);
    }

    // No more text: reads a last line without a line feed, and settles where indices start.
    std::optional<SvmlightError> end() {
        if (partial_.size() > 0) {
            partial_.append("\n", 1);
            if (auto error = read_partial()) return error;
        }
        return settle();
    }

    // Decides where indices start, if that is not known: from 0 if there was an index 0.
    std::optional<SvmlightError> settle() {
        if (options_.base != IndexBase::unknown) return std::nullopt;
        if (auto error = beyond_limit()) return error;
        options_.base = rows_.has_index_zero ? IndexBase::zero : IndexBase::one;
        options_.base_is_guessed = true;
        if (options_.base == IndexBase::zero && rows_.at_limit.line != 0) {
            rows_.drop_index(*options_.n_features);
            rows_.largest_index = std::min<std::int64_t>(rows_.largest_index, *options_.n_features);
        } else if (options_.base == IndexBase::one) {
            std::int32_t* indices = rows_.indices.data();
            for (std::size_t entry = 0; entry < rows_.indices.size(); ++entry) --indices[entry];
        }
        return std::nullopt;
    }

    // The first rows, by move if these are all. Where indices start must be settled.
    SvmlightRows take(std::size_t count) {
        count = std::min(count, available());
        SvmlightRows taken;
        if (taken_ == 0 && count == rows_.size()) {
            taken.swap_rows(rows_);
            return taken;
        }
        taken.append_rows(rows_, taken_, count);
        taken_ += count;
        return taken;
    }

    // Forgets all rows; their labels.
    GrowingBuffer<double> drop() {
        GrowingBuffer<double> labels;
        labels.swap(rows_.labels);
        rows_.clear_rows();
        taken_ = 0;
        return labels;
    }

private:
    static constexpr std::size_t least_part = 1 << 16;  // bytes that are worth a thread

    // The start of a line whose end is not there yet.
    std::optional<SvmlightError> keep(const char* text, const char* end) {
        const auto size = static_cast<std::size_t>(end - text);
        if (partial_.size() + size > longest_line_) {
            return SvmlightError{{rows_.line_count + 1, 1},
                                 "the line is longer than " + std::to_string(longest_line_) +
                                     " bytes; is this a text file with a row on each line?"};
        }
        partial_.append(text, size);
        return std::nullopt;
    }

    std::optional<SvmlightError> read_partial() {
        auto error = read(partial_.data(), partial_.size());
        partial_.clear();
        return error;
    }

    // Whole lines.
    std::optional<SvmlightError> read(const char* text, std::size_t size) {
        if (size == 0) return std::nullopt;
        const std::size_t parts =
            std::min<std::size_t>(size / least_part + 1, static_cast<std::size_t>(threads_) * 2);
        auto error = threads_ > 1 && parts > 1 ? read_parts(text, size, parts)
                                               : SvmlightLines(options_, rows_).read(text, size);
        if (!error) return std::nullopt;
        // What the text before the error says may have been wrong already.
        if (auto earlier = beyond_limit()) return earlier;
        return error;
    }

    std::optional<SvmlightError> read_parts(const char* text, std::size_t size, std::size_t parts) {
        parts_.resize(std::max(parts, parts_.size()));
        errors_.assign(parts, std::nullopt);
        borders_.assign(1, 0);
        for (std::size_t part = 1; part < parts; ++part) {
            const std::size_t from = std::max(size * part / parts, borders_.back());
            const auto* feed =
                static_cast<const char*>(std::memchr(text + from, '\n', size - from));
            borders_.push_back(feed == nullptr ? size : static_cast<std::size_t>(feed - text) + 1);
        }
        borders_.push_back(size);
        parallel_for(threads_, parts, [&](std::size_t part) {
            parts_[part].reset();
            errors_[part] = SvmlightLines(options_, parts_[part])
                                .read(text + borders_[part], borders_[part + 1] - borders_[part]);
        });
        for (std::size_t part = 0; part < parts; ++part) {
            const std::int64_t line_count = rows_.line_count;
            rows_.append(parts_[part]);
            if (errors_[part]) {
                errors_[part]->place.line += line_count;
                return std::move(errors_[part]);
            }
        }
        return std::nullopt;
    }

    // An index that is one too many now that indices are known to start from 0.
    std::optional<SvmlightError> beyond_limit() const {
        if (options_.base != IndexBase::unknown || options_.ignore_extra || !rows_.has_index_zero ||
            rows_.at_limit.line == 0) {
            return std::nullopt;
        }
        const std::int64_t n = *options_.n_features;
        return SvmlightError{rows_.at_limit, SvmlightLines::extra_message(n, n) +
                                                 " (indices start from 0: there is an index 0)"};
    }

    SvmlightOptions options_;
    int threads_;
    std::size_t longest_line_;
    SvmlightRows rows_;
    std::size_t taken_ = 0;  // rows at the front that are out already
    GrowingBuffer<char> partial_;
    std::vector<SvmlightRows> parts_;
    std::vector<std::optional<SvmlightError>> errors_;
    std::vector<std::size_t> borders_;
};

}  // namespace polymargin::text
