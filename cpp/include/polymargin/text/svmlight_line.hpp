// One line of svmlight text:  label [qid:number] index:value index:value ... [# comment]
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polymargin/text/number.hpp"
#include "polymargin/text/svmlight_rows.hpp"

namespace polymargin::text {

enum class IndexBase { unknown, zero, one };

struct SvmlightOptions {
    IndexBase base = IndexBase::unknown;
    std::optional<std::int32_t> n_features = std::nullopt;
    bool ignore_extra = false;     // leave out indices beyond n_features
    bool labels_optional = false;  // lines may start with an entry
    bool base_is_guessed = false;  // from rows that were read before
};

// Reads lines into rows. Line numbers count from the first line it is given.
class SvmlightLines {
public:
    SvmlightLines(const SvmlightOptions& options, SvmlightRows& rows)
        : options_(options), rows_(rows) {
        if (options.n_features) {
            const std::int64_t n = *options.n_features;
            limit_ = std::min(options.base == IndexBase::zero ? n : n + 1, limit_);
        }
        shift_ = options.base == IndexBase::one;
    }

    // Reads the text, which ends with a line feed. Stops at the first error.
    std::optional<SvmlightError> read(const char* text, std::size_t size) {
        const char* const end = text + size;
        while (text < end) {
            const char* stop = static_cast<const char*>(std::memchr(text, '\n', end - text));
            ++rows_.line_count;
            if (!read_line(text, stop - (stop > text && stop[-1] == '\r'))) {
                return std::move(error_);
            }
            text = stop + 1;
        }
        return std::nullopt;
    }

private:
    static constexpr std::int64_t largest_index = std::numeric_limits<std::int32_t>::max() - 1;

    static bool is_blank(char c) { return c == ' ' || c == '\t'; }

    // *end_ is a line feed or a carriage return: loops over digits and blanks end there.
    bool read_line(const char* text, const char* end) {
        start_ = text;
        end_ = end;
        const char* p = skip_blanks(text);
        if (is_end(p)) return true;
        const std::size_t first = rows_.values.size();
        const std::size_t most = static_cast<std::size_t>(end - p) / 3 + 1;
        rows_.values.make_room(most);
        rows_.indices.make_room(most);
        if (!read_label(p) || !read_query(p)) return false;
        is_sorted_ = true;
        last_ = -1;
        for (p = skip_blanks(p); !is_end(p); p = skip_blanks(p)) {
            if (!read_entry(p)) return false;
        }
        if (!is_sorted_ && !sort(first)) return false;
        rows_.labels.make_room(1);
        rows_.ends.make_room(1);
        rows_.lines.make_room(1);
        rows_.labels.push(label_);
        rows_.ends.push(static_cast<std::int64_t>(rows_.values.size()));
        rows_.lines.push(rows_.line_count);
        rows_.missing_labels += std::isnan(label_);
        return true;
    }

    static const char* skip_blanks(const char* p) {
        while (is_blank(*p)) ++p;
        return p;
    }

    bool is_end(const char* p) const { return p == end_ || *p == '#'; }
    bool is_token_end(const char* p) const { return is_blank(*p) || is_end(p); }

    const char* token_end(const char* p) const {
        while (!is_token_end(p)) ++p;
        return p;
    }

    bool read_label(const char*& p) {
        const char* token = p;
        if (read_simple_number(p, label_) && is_token_end(p)) return check_label(token, p);
        p = token_end(token);
        const std::string_view text(token, static_cast<std::size_t>(p - token));
        if (text.find(':') != text.npos) {
            label_ = std::numeric_limits<double>::quiet_NaN();
            p = token;
            if (options_.labels_optional) return true;
            return fail(token, "the line starts with " + quote(token) +
                                   " and has no label; put a number in front, or read the file as "
                                   "one without labels");
        }
        const Number number = read_number(token, p);
        label_ = number.value;
        if (number.kind == NumberKind::finite) return check_label(token, p);
        if (text.find(',') != text.npos) {
            return fail(token,
                        quote(token) + " is more than one label; give each row a single one");
        }
        if (number.kind == NumberKind::none) {
            return fail(token, quote(token) + " is not a label: labels are numbers here");
        }
        return fail(token, "the label " + quote(token) + " is not finite; use another number");
    }

    // Whole numbers beyond 2^53 are no longer told apart.
    bool check_label(const char* token, const char* end) {
        constexpr double most = 9007199254740992.0;
        if (std::abs(label_) < most || std::find_if(token, end, [](char c) {
                                           return c == '.' || c == 'e' || c == 'E';
                                       }) != end) {
            return true;
        }
        return fail(token, "the label " + quote(token) +
                               " has too many digits; use numbers below 2^53 in size");
    }

    bool read_query(const char*& p) {
        p = skip_blanks(p);
        if (end_ - p < 4 || std::memcmp(p, "qid:", 4) != 0) return true;
        const char* token = p;
        p += 4;
        p += *p == '-';
        const char* digits = p;
        while (is_digit(*p)) ++p;
        if (p > digits && is_token_end(p)) return true;
        return fail(token, quote(token) + " is not a query number: write qid: and a whole number");
    }

    bool read_entry(const char*& p) {
        const char* const token = p;
        std::int64_t index = 0;
        for (; is_digit(*p) && index <= largest_index; ++p) index = 10 * index + (*p - '0');
        if (p == token || *p != ':' || index > largest_index) return fail_index(token, p, index);
        const char* const number = ++p;
        double value;
        if (!read_simple_number(p, value) || !is_token_end(p)) {
            p = token_end(number);
            const Number slow = read_number(number, p);
            if (slow.kind != NumberKind::finite) return fail_value(token, number, slow.kind);
            value = slow.value;
        }
        if (index == 0) {
            rows_.has_index_zero = true;
            if (options_.base == IndexBase::one) return fail_zero(token);
        }
        if (index <= last_) is_sorted_ = false;
        last_ = index;
        if (index >= limit_ - 1 && options_.n_features) {
            if (index >= limit_) {
                if (!options_.ignore_extra) return fail_extra(token, index);
                ++rows_.ignored_entries;
                return true;
            }
            if (options_.base == IndexBase::unknown && index == *options_.n_features &&
                rows_.at_limit.line == 0) {
                rows_.at_limit = place(token);
            }
        }
        rows_.largest_index = std::max(rows_.largest_index, index);
        rows_.values.push(value);
        rows_.indices.push(static_cast<std::int32_t>(index) - shift_);
        return true;
    }

    // Brings the entries of the last row into order.
    bool sort(std::size_t first) {
        pairs_.clear();
        for (std::size_t entry = first; entry < rows_.values.size(); ++entry) {
            pairs_.emplace_back(rows_.indices[entry], rows_.values[entry]);
        }
        std::sort(pairs_.begin(), pairs_.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t at = 0; at < pairs_.size(); ++at) {
            if (at > 0 && pairs_[at].first == pairs_[at - 1].first) return fail_twice();
            rows_.indices[first + at] = pairs_[at].first;
            rows_.values[first + at] = pairs_[at].second;
        }
        return true;
    }

    // --- what is wrong ---------------------------------------------------------------------

    Place place(const char* p) const { return {rows_.line_count, p - start_ + 1}; }

    bool fail(const char* p, std::string message) {
        error_ = {place(p), std::move(message)};
        return false;
    }

    // The token in quotes, cut when long, with anything that is not plain text as \xNN.
    std::string quote(const char* p) const {
        constexpr std::ptrdiff_t longest = 40;
        const char* end = std::max(token_end(p), p + (p != end_));
        std::string text = "'";
        for (const char* c = p; c < std::min(end, p + longest); ++c) {
            const auto byte = static_cast<unsigned char>(*c);
            if (byte >= 32 && byte < 127) {
                text += *c;
            } else {
                constexpr char hex[] = "0123456789abcdef";
                text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
            }
        }
        return text + (end - p > longest ? "...'" : "'");
    }

    bool fail_index(const char* token, const char* p, std::int64_t index) {
        const std::string text = quote(token);
        if (*token == '-' && is_digit(token[1])) {
            return fail(token, "negative index in " + text + "; indices are whole numbers from 0");
        }
        if (index > largest_index) {
            return fail(token, "the index in " + text + " is too large; the largest is " +
                                   std::to_string(largest_index));
        }
        if (end_ - token >= 4 && std::memcmp(token, "qid:", 4) == 0) {
            return fail(token, text + " is out of place: it comes right after the label, once");
        }
        const char* const colon = std::find(token, token_end(token), ':');
        if (colon == token_end(token)) {
            return fail(token, text + " has no colon; entries are written index:value");
        }
        if (colon == token) {
            return fail(token,
                        text + " has no index; entries are written index:value without blanks");
        }
        return fail(p, "the index in " + text + " is not a whole number");
    }

    bool fail_value(const char* token, const char* number, NumberKind kind) {
        const std::string text = quote(token);
        if (is_token_end(number)) {
            return fail(number,
                        text + " has no value; entries are written index:value without blanks");
        }
        if (kind == NumberKind::not_finite) {
            return fail(number, "the value in " + text +
                                    " is not finite; leave the entry out or put a number");
        }
        if (kind == NumberKind::too_large) {
            return fail(number,
                        "the value in " + text + " is beyond the range of numbers, 1.8e308");
        }
        return fail(number, "the value in " + text + " is not a number");
    }

    bool fail_zero(const char* token) {
        if (options_.base_is_guessed) {
            return fail(token,
                        "index 0, but the rows before had none and were taken to start from 1; "
                        "read the file as zero-based");
        }
        return fail(token, "index 0 in a file whose indices start from 1; read it as zero-based");
    }

    bool fail_extra(const char* token, std::int64_t index) {
        return fail(token, extra_message(index, *options_.n_features));
    }

    // The entry that repeats an index, among those that are kept.
    bool fail_twice() {
        std::vector<std::pair<std::int64_t, const char*>> seen;
        const char* p = skip_blanks(start_);
        for (; !is_end(p); p = skip_blanks(token_end(p))) {
            std::int64_t index = 0;
            const char* digits = p;
            for (; is_digit(*digits) && index <= largest_index; ++digits) {
                index = 10 * index + (*digits - '0');
            }
            if (digits > p && *digits == ':') seen.emplace_back(index, p);
        }
        std::sort(seen.begin(), seen.end());
        const char* second = nullptr;
        for (std::size_t at = 1; at < seen.size(); ++at) {
            if (seen[at].first == seen[at - 1].first && seen[at].first < limit_ &&
                (second == nullptr || seen[at].second < second)) {
                second = seen[at].second;
            }
        }
        return fail(second, "the index in " + quote(second) +
                                " occurs twice in its row; keep one of the two");
    }

public:
    static std::string extra_message(std::int64_t index, std::int64_t n_features) {
        return "index " + std::to_string(index) + " is beyond the " + std::to_string(n_features) +
               " features expected; check that the file belongs to the same data, or ask for extra "
               "features to be ignored";
    }

private:
    const SvmlightOptions& options_;
    SvmlightRows& rows_;
    std::int64_t limit_ = largest_index + 1;  // the first index that is too large
    std::int32_t shift_ = 0;
    const char* start_ = nullptr;
    const char* end_ = nullptr;
    double label_ = 0;
    std::int64_t last_ = -1;
    bool is_sorted_ = true;
    std::vector<std::pair<std::int32_t, double>> pairs_;
    SvmlightError error_;
};

}  // namespace polymargin::text
