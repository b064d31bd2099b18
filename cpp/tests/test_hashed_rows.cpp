// Texts as rows of hashed terms: which terms there are, their hashes, sums and norms, threads.
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness.hpp"
#include "polymargin/text/hash_texts.hpp"

namespace polymargin::testing {
namespace {

using namespace polymargin::text;

// Small letters, digits and blanks of ASCII; of the rest a few.
const std::uint32_t* table() {
    static const std::vector<std::uint32_t> entries = [] {
        std::vector<std::uint32_t> made(Character::count);
        for (std::uint32_t point = 0; point < Character::count; ++point) made[point] = point;
        for (std::uint32_t c = 'A'; c <= 'Z'; ++c) made[c] = c + 32;
        for (const char c : std::string("0123456789_")) made[c] |= Character::is_word;
        for (std::uint32_t c = 'a'; c <= 'z'; ++c) {
            made[c] |= Character::is_word;
            made[c - 32] |= Character::is_word;
        }
        for (const char c : std::string(" \t\n\r")) made[c] |= Character::is_space;
        made[0xc4] = 0xe4 | Character::is_word;   // of one byte, a letter of two
        made[0x212a] = 'k' | Character::is_word;  // of two, a letter of one
        made[0x10400] = 0x10428 | Character::is_word;
        made[0x416] = 0x436 | Character::is_word;
        made[0x2003] |= Character::is_space;
        made[0x130] = Character::in_doubt;
        return made;
    }();
    return entries.data();
}

Text view(const std::string& text) { return {text.data(), text.size(), 1}; }
Text view(const std::u16string& text) { return {text.data(), text.size(), 2}; }
Text view(const std::u32string& text) { return {text.data(), text.size(), 4}; }

// All terms with a comma behind each; "doubt" where there is one.
template <class String>
std::string terms(const String& text, Analyzer analyzer, std::size_t least, std::size_t most) {
    std::string found;
    TermFinder finder(table(), analyzer, least, most);
    const bool certain = finder.find(view(text), [&](const char* bytes, std::size_t size) {
        found.append(bytes, size);
        found += ',';
    });
    return certain ? found : "doubt";
}

template <class Value = double>
HashedRows<Value> rows_of(const std::vector<std::string>& texts, const HashingOptions& options,
                          int threads = 1) {
    std::vector<Text> views;
    for (const std::string& text : texts) views.push_back(view(text));
    return hash_texts<Value>(views, options, threads);
}

HashingOptions plain(Analyzer analyzer, std::size_t least, std::size_t most, std::uint32_t d) {
    HashingOptions options;
    options.table = table();
    options.analyzer = analyzer;
    options.least = least;
    options.most = most;
    options.n_features = d;
    options.norm = Norm::none;
    return options;
}

std::vector<std::string> random_texts(std::size_t n, std::size_t longest) {
    std::mt19937 random(7);
    const std::string letters = "aAbcdeXYZ019_  \t.,-";
    std::vector<std::string> texts(n);
    for (std::string& text : texts) {
        text.resize(random() % (longest + 1));
        for (char& c : text) c = letters[random() % letters.size()];
    }
    return texts;
}

TEST(hashed_rows, murmur_of_known_words) {
    const auto hash = [](const std::string& word) { return murmur(word.data(), word.size()); };
    CHECK(hash("") == 0);
    CHECK(hash("a") == 0x3c2569b2);
    CHECK(hash("ab") == 0x9bbfd75f);
    CHECK(hash("abc") == 0xb3dd93fa);
    CHECK(hash("abcd") == 0x43ed676a);
    CHECK(hash("The quick brown fox jumps over the lazy dog") == 0x2e4ff723);
}

TEST(hashed_rows, words) {
    const auto words = [](const auto& text, std::size_t least, std::size_t most) {
        return terms(text, Analyzer::words, least, most);
    };
    const std::string text = "One-two a  B2! x_";
    CHECK(words(text, 1, 1) == "one,two,b2,x_,");
    CHECK(words(text, 2, 3) == "one two,two b2,b2 x_,one two b2,two b2 x_,");
    CHECK(words(text, 5, 9) == "");
    CHECK(words(std::string(), 1, 3) == "");
    CHECK(words(std::string("..a b c"), 1, 1) == "");
    CHECK(words(std::u16string(u"\u00c4\u212a x\u212a\u2003zz"), 1, 1) == "\u00e4k,xk,zz,");
    CHECK(words(std::u16string(u"\u0416\u0416"), 1, 1) == "\u0436\u0436,");
    CHECK(words(std::u32string(U"\U00010400\U00010400 bc"), 2, 2) == "\U00010428\U00010428 bc,");
}

TEST(hashed_rows, characters) {
    const auto characters = [](const auto& text, std::size_t least, std::size_t most) {
        return terms(text, Analyzer::characters, least, most);
    };
    CHECK(characters(std::string("aB"), 1, 3) == "a,b,ab,");
    CHECK(characters(std::string("a \t b"), 2, 2) == "a , b,");
    CHECK(characters(std::string("a\tb"), 2, 2) == "a\t,\tb,");
    CHECK(characters(std::string("a"), 2, 3) == "");
    CHECK(characters(std::u16string(u"\u2003\u2003\u00c4\u2003"), 1, 1) == " ,\u00e4,\u2003,");
}

TEST(hashed_rows, characters_of_each_word) {
    const auto words = [](const auto& text, std::size_t least, std::size_t most) {
        return terms(text, Analyzer::word_by_word, least, most);
    };
    CHECK(words(std::string(" Ab\t\tc"), 2, 3) == " a,ab,b , ab,ab , c,c , c ,");
    CHECK(words(std::string("a"), 3, 3) == " a ,");
    CHECK(words(std::string("a bcd"), 4, 9) == " a , bcd,bcd , bcd ,");
    CHECK(words(std::string(" \n"), 1, 2) == "");
}

TEST(hashed_rows, doubt) {
    for (const Analyzer analyzer :
         {Analyzer::words, Analyzer::characters, Analyzer::word_by_word}) {
        for (const char16_t* text : {u"\u0130", u"ab\u0130c", u"ab \u0130", u"  \u0130"}) {
            CHECK(terms(std::u16string(text), analyzer, 1, 2) == "doubt");
        }
    }
    const std::u16string doubtful = u"ab\u0130";
    const std::string certain = "ab cd";
    const std::vector<Text> texts{view(certain), {nullptr, 0, 0}, view(doubtful), view(certain)};
    const auto rows = hash_texts<double>(texts, plain(Analyzer::words, 1, 1, 1000), 1);
    CHECK(rows.skipped.size() == 2 && rows.skipped[0] == 1 && rows.skipped[1] == 2);
    CHECK(rows.ends[0] == 2 && rows.ends[1] == 2 && rows.ends[2] == 2 && rows.ends[3] == 4);
}

// Against sums in a map, also with so many terms that they are sorted in another way.
TEST(hashed_rows, sums) {
    std::vector<std::string> texts = random_texts(200, 60);
    for (const std::size_t size : {16, 17, 1000, 3000, 9000}) {
        texts.push_back(random_texts(2, 2 * size).back());
    }
    for (const std::uint32_t d : {1u, 2u, 7u, 1024u, 1000003u, 2147483647u}) {
        for (const bool alternate : {false, true}) {
            HashingOptions options = plain(Analyzer::characters, 1, 2, d);
            options.alternate_sign = alternate;
            const auto rows = rows_of(texts, options);
            std::int64_t entry = 0, n_terms = 0;
            for (std::size_t i = 0; i < texts.size(); ++i) {
                std::map<std::int64_t, double> sums;
                TermFinder finder(table(), Analyzer::characters, 1, 2);
                finder.find(view(texts[i]), [&](const char* bytes, std::size_t size) {
                    const auto hash = static_cast<std::int32_t>(murmur(bytes, size));
                    sums[std::abs(std::int64_t{hash}) % d] += alternate && hash < 0 ? -1 : 1;
                    ++n_terms;
                });
                CHECK(rows.ends[i] - entry == static_cast<std::int64_t>(sums.size()));
                for (const auto& [index, value] : sums) {
                    CHECK(rows.indices[entry] == index && rows.values[entry] == value);
                    ++entry;
                }
            }
            CHECK(rows.n_entries() == entry && rows.n_terms == n_terms);
        }
    }
}

// A hash of -2^31, whose size is no number of 32 bits with a sign.
TEST(hashed_rows, the_least_hash) {
    const auto rows = rows_of({"akqlrggi"}, plain(Analyzer::words, 1, 1, 1000));
    CHECK(rows.indices[0] == 648 && rows.values[0] == -1);
}

TEST(hashed_rows, norms) {
    HashingOptions options = plain(Analyzer::words, 1, 1, 1u << 20);
    const std::vector<std::string> texts{"aa aa aa bb bb bb bb", "", "cc"};
    options.alternate_sign = false;
    options.norm = Norm::l2;
    const auto long_rows = rows_of(texts, options);
    const auto short_rows = rows_of<float>(texts, options);
    double squares = 0;
    for (std::size_t j = 0; j < 2; ++j) {
        squares += long_rows.values[j] * long_rows.values[j];
        CHECK(short_rows.values[j] == static_cast<float>(long_rows.values[j]));
    }
    CHECK_CLOSE(squares, 1, 1e-15);
    CHECK(long_rows.ends[1] == 2 && long_rows.values[2] == 1);
    options.norm = Norm::l1;
    const auto shares = rows_of(texts, options);
    CHECK(shares.values[0] + shares.values[1] == 1);
    options.binary = true;
    CHECK(rows_of(texts, options).values[0] == 0.5);
    // One hash below zero and one above: a sum of zero is not divided by its norm.
    for (const Norm norm : {Norm::l1, Norm::l2}) {
        options = plain(Analyzer::words, 1, 1, 1);
        options.norm = norm;
        const auto none = rows_of({"ab abcd"}, options);
        CHECK(none.n_entries() == 1 && none.values[0] == 0);
    }
}

TEST(hashed_rows, threads_make_the_same_rows) {
    std::vector<std::string> texts = random_texts(30000, 60);
    texts[20] = random_texts(2, 200000).back();
    HashingOptions options = plain(Analyzer::word_by_word, 1, 3, 1u << 12);
    options.norm = Norm::l2;
    const auto one = rows_of(texts, options);
    for (const int threads : {2, 3}) {
        const auto several = rows_of(texts, options, threads);
        const auto same = [](const auto& a, const auto& b) {
            return std::equal(a.data(), a.data() + a.size(), b.data(), b.data() + b.size());
        };
        CHECK(same(one.values, several.values) && same(one.indices, several.indices));
        CHECK(same(one.ends, several.ends) && one.n_terms == several.n_terms);
    }
    CHECK(rows_of({}, options, 2).ends.size() == 0);
}

}  // namespace
}  // namespace polymargin::testing
