// The terms of a text: n-grams of its words, of its characters, or of the characters in its words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "polymargin/text/characters.hpp"
#include "polymargin/text/growing_buffer.hpp"

namespace polymargin::text {

enum class Analyzer : std::uint8_t {
    words,         // runs of two or more word characters; those of an n-gram have one blank between
    characters,    // of the whole text, in which a run of white space is one blank
    word_by_word,  // characters of each word with a blank before and behind it
};

// A text as Python keeps it: all characters of the same width.
struct Text {
    const void* units;
    std::size_t size;
    int width;  // bytes of a character: 1, 2 or 4; 0 where there is no text
};

class TermFinder {
public:
    // `table` has an entry for each code point; terms are of `least` to `most` words or characters.
    TermFinder(const std::uint32_t* table, Analyzer analyzer, std::size_t least, std::size_t most)
        : table_(table), analyzer_(analyzer), least_(least), most_(most) {}

    // Calls visit(bytes, size) for each term, in UTF-8. False where a character is in doubt, or the
    // text is too long: then there may have been calls or none.
    template <class Visit>
    bool find(const Text& text, const Visit& visit) {
        switch (text.width) {
            case 1: return find_in(static_cast<const std::uint8_t*>(text.units), text.size, visit);
            case 2: return find_in(static_cast<const std::uint16_t*>(text.units), text.size, visit);
            case 4: return find_in(static_cast<const std::uint32_t*>(text.units), text.size, visit);
            default: return false;
        }
    }

private:
    template <class Unit, class Visit>
    bool find_in(const Unit* text, std::size_t size, const Visit& visit) {
        constexpr std::size_t longest_character = 4;
        constexpr std::size_t longest_text = std::numeric_limits<std::uint32_t>::max() / 8;
        if (size > longest_text) return false;
        bytes_.resize(longest_character * size + size + 2);
        starts_.resize(size + 3);
        switch (analyzer_) {
            case Analyzer::words: return find_words(text, size, visit);
            case Analyzer::characters: return find_characters(text, size, visit);
            default: return find_word_by_word(text, size, visit);
        }
    }

    template <class Unit, class Visit>
    bool find_words(const Unit* text, std::size_t size, const Visit& visit) {
        char* out = bytes_.data();
        std::size_t n_words = 0;
        for (std::size_t i = 0; i < size;) {
            std::uint32_t entry = table_[text[i]];
            if (entry & Character::in_doubt) return false;
            if (!(entry & Character::is_word)) {
                ++i;
                continue;
            }
            char* const start = out;
            const std::size_t first = i;
            do {
                out = put_utf_8(Character::point(entry), out);
                if (++i == size) break;
                entry = table_[text[i]];
            } while (entry & Character::is_word);
            if (i - first < 2) {
                out = start;
                continue;
            }
            starts_[n_words++] = place(start);
            *out++ = ' ';
        }
        starts_[n_words] = place(out);
        visit_ngrams(n_words, 1, visit);
        return true;
    }

    template <class Unit, class Visit>
    bool find_characters(const Unit* text, std::size_t size, const Visit& visit) {
        char* out = bytes_.data();
        std::size_t length = 0;
        for (std::size_t i = 0; i < size;) {
            const std::uint32_t entry = table_[text[i]];
            if (entry & Character::in_doubt) return false;
            std::uint32_t point = Character::point(entry);
            ++i;
            if (entry & Character::is_space) {
                const std::size_t second = i;
                while (i < size && table_[text[i]] & Character::is_space) ++i;
                if (i > second) point = ' ';
            }
            starts_[length++] = place(out);
            out = put_utf_8(point, out);
        }
        starts_[length] = place(out);
        visit_ngrams(length, 0, visit);
        return true;
    }

    template <class Unit, class Visit>
    bool find_word_by_word(const Unit* text, std::size_t size, const Visit& visit) {
        bytes_[0] = ' ';
        starts_[0] = 0;
        for (std::size_t i = 0; i < size;) {
            std::uint32_t entry = table_[text[i]];
            if (entry & Character::is_space) {
                ++i;
                continue;
            }
            char* out = bytes_.data() + 1;
            std::size_t length = 1;
            do {
                if (entry & Character::in_doubt) return false;
                starts_[length++] = place(out);
                out = put_utf_8(Character::point(entry), out);
                if (++i == size) break;
                entry = table_[text[i]];
            } while (!(entry & Character::is_space));
            starts_[length++] = place(out);
            *out++ = ' ';
            starts_[length] = place(out);
            visit_ngrams(length, 0, visit);
            // A word that is not longer than the n-grams is one of them, once.
            if (length < least_) visit(bytes_.data(), starts_[length]);
        }
        return true;
    }

    // Those of `count` parts; `gap` bytes stand behind each part and belong to none.
    template <class Visit>
    void visit_ngrams(std::size_t count, std::size_t gap, const Visit& visit) const {
        const std::size_t most = std::min(most_, count);
        for (std::size_t n = least_; n <= most; ++n) {
            for (std::size_t i = 0; i + n <= count; ++i) {
                visit(bytes_.data() + starts_[i], starts_[i + n] - starts_[i] - gap);
            }
        }
    }

    std::uint32_t place(const char* p) const {
        return static_cast<std::uint32_t>(p - bytes_.data());
    }

    const std::uint32_t* table_;
    Analyzer analyzer_;
    std::size_t least_, most_;
    GrowingBuffer<char> bytes_;
    GrowingBuffer<std::uint32_t> starts_;  // of words or characters in `bytes_`, and one behind
};

}  // namespace polymargin::text
