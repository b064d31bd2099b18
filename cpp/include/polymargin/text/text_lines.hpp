// Lines of texts, `label<TAB>text` or `text`, cut as long as nothing about them is in doubt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace polymargin::text {

class TextLines {
public:
    // Cuts up to the first line in doubt: one with another number of tabs than its form has, or
    // with a zero byte. Lines of nothing but ASCII blanks are passed over. The text has to outlive
    // this object.
    TextLines(std::string_view text, bool has_labels) : text_(text), has_labels_(has_labels) {
        while (n_bytes_ < text_.size() && cut_line()) ++n_lines_;
    }

    struct Row {
        std::size_t line, byte;  // where it starts, from 0
        std::uint32_t label;     // among those that occur
        std::string_view text;
    };

    const std::vector<Row>& rows() const { return rows_; }
    const std::vector<std::string_view>& labels() const { return labels_; }  // as they are written
    std::size_t n_lines() const { return n_lines_; }                         // also empty ones
    std::size_t n_bytes() const { return n_bytes_; }                         // of those lines

private:
    static constexpr std::string_view blanks = " \t\r\v\f\x1c\x1d\x1e\x1f";

    bool cut_line() {
        std::string_view line = text_.substr(n_bytes_);
        const std::size_t end = line.find('\n');
        const std::size_t size = end == line.npos ? line.size() : end + 1;
        line = line.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(blanks) != line.npos && !cut_row(line)) return false;
        n_bytes_ += size;
        return true;
    }

    bool cut_row(std::string_view line) {
        if (line.find('\0') != line.npos) return false;
        const std::size_t tab = line.find('\t');
        if (!has_labels_) {
            if (tab != line.npos) return false;
            rows_.push_back({n_lines_, n_bytes_, 0, line});
            return true;
        }
        if (tab == line.npos || line.find('\t', tab + 1) != line.npos) return false;
        const std::uint32_t label = number_of(line.substr(0, tab));
        rows_.push_back({n_lines_, n_bytes_, label, line.substr(tab + 1)});
        return true;
    }

    std::uint32_t number_of(std::string_view label) {
        if (last_ < labels_.size() && labels_[last_] == label) return last_;
        const auto next = static_cast<std::uint32_t>(labels_.size());
        const auto [found, is_new] = numbers_.try_emplace(label, next);
        if (is_new) labels_.push_back(label);
        return last_ = found->second;
    }

    std::string_view text_;
    bool has_labels_;
    std::size_t n_lines_ = 0, n_bytes_ = 0;
    std::vector<Row> rows_;
    std::vector<std::string_view> labels_;
    std::unordered_map<std::string_view, std::uint32_t> numbers_;
    std::uint32_t last_ = 0;
};

// A text in which \\, \t, \r and \n stand for a character each; other backslashes for themselves.
inline std::string unescaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
        out += text[i];
        switch (next) {
            case '\\': break;
            case 't': out.back() = '\t'; break;
            case 'r': out.back() = '\r'; break;
            case 'n': out.back() = '\n'; break;
            default: continue;
        }
        ++i;
    }
    return out;
}

}  // namespace polymargin::text
