// svmlight text: every border between pieces, threads, places of errors, damaged text.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "harness.hpp"
#include "polymargin/text/svmlight.hpp"

namespace polymargin::testing {
namespace {

using namespace polymargin::text;

constexpr std::size_t no_limit = 1 << 30;

// All that a parser makes of a text, in words.
std::string outcome(const std::vector<std::string>& pieces, const SvmlightOptions& options = {},
                    int threads = 1, std::size_t longest_line = no_limit) {
    SvmlightParser parser(options, threads, longest_line);
    std::optional<SvmlightError> error;
    for (const std::string& piece : pieces) {
        // A copy of its own, so that a sanitizer sees a read beyond its end.
        const std::vector<char> exact(piece.begin(), piece.end());
        if (!error) error = parser.feed(exact.data(), exact.size());
    }
    if (!error) error = parser.end();
    std::ostringstream words;
    words.precision(17);
    if (error) {
        words << error->place.line << ":" << error->place.column << ": " << error->message;
        return words.str();
    }
    const SvmlightRows& rows = parser.rows();
    words << (parser.options().base == IndexBase::zero ? "from 0" : "from 1");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        words << "|" << rows.lines[i] << "|" << rows.labels[i];
        for (auto entry = rows.begin(i); entry < rows.ends[i]; ++entry) {
            words << " " << rows.indices[entry] << ":" << rows.values[entry];
        }
    }
    if (rows.ignored_entries > 0) words << "|ignored " << rows.ignored_entries;
    return words.str();
}

std::string random_text(std::mt19937& random, int lines) {
    std::string text;
    for (int line = 0; line < lines; ++line) {
        text += std::to_string(int(random() % 5) - 2);
        int index = 0;
        for (int entry = int(random() % 9); entry > 0; --entry) {
            index += 1 + int(random() % 7);
            text += " " + std::to_string(index) + ":" + std::to_string(double(random()) / 1e7);
        }
        text += random() % 8 == 0 ? " # words\r\n" : "\n";
    }
    return text;
}

TEST(svmlight, reads_all_that_is_allowed) {
    CHECK(
        outcome({"# c\r\n+1 qid:7 1:2 3:-1.5e0\t4:+.5 # 9:9\n\n -2\t2:1e-400 \n3#x\n1 2:1 1:7"}) ==
        "from 1|2|1 0:2 2:-1.5 3:0.5|4|-2 1:0|5|3|6|1 0:7 1:1");
    CHECK(outcome({"1 1:1\n1 0:2"}) == "from 0|1|1 1:1|2|1 0:2");
    CHECK(outcome({""}) == "from 1");
    CHECK(outcome({"1:1\n2 1:1\n"}, {.labels_optional = true}) == "from 1|1|nan 0:1|2|2 0:1");
}

TEST(svmlight, borders_between_pieces_do_not_matter) {
    const std::string text = "1 2:3 1:4\r\n\n# c\n-2 qid:3 1:0.25 # d\n3\n1.5 3:1e2";
    const std::string expected = outcome({text});
    for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= text.size(); ++second) {
            CHECK(outcome({text.substr(0, first), text.substr(first, second - first),
                           text.substr(second)}) == expected);
        }
    }
}

TEST(svmlight, threads_do_not_matter) {
    std::mt19937 random(1);
    std::string text = random_text(random, 12000);
    CHECK(text.size() > 4 * 65536);
    const std::string expected = outcome({text});
    for (const int threads : {2, 3, 5}) CHECK(outcome({text}, {}, threads) == expected);
    text += "1 1:x\n" + text + "1 y\n";
    const std::string error = outcome({text});
    CHECK(error.starts_with("12001:5: "));
    for (const int threads : {2, 3, 5}) CHECK(outcome({text}, {}, threads) == error);
}

TEST(svmlight, tells_where_an_error_is) {
    const auto starts = [](const std::string& text, const std::string& place) {
        context() = text;
        return outcome({text}).starts_with(place + ": ");
    };
    CHECK(starts("1 1:1\nx 1:1\n", "2:1"));
    CHECK(starts("1 1:1 3:\n", "1:9"));
    CHECK(starts("1 1:1 2147483647:1", "1:7"));
    CHECK(starts("1 2:1 1:1 2:5", "1:11"));
    CHECK(starts("1 1:nan", "1:5"));
    CHECK(starts("1 1:1e999", "1:5"));
    CHECK(starts("1 -3:1", "1:3"));
    CHECK(starts(std::string("1 1:1\0\n", 7), "1:5"));
    CHECK(outcome({"1 1:1\n1 1:", "1111111111"}, {}, 1, 10).starts_with("2:1: the line is longer"));
}

TEST(svmlight, keeps_to_the_number_of_features) {
    const SvmlightOptions three{.n_features = 3};
    const SvmlightOptions ignore{.n_features = 3, .ignore_extra = true};
    CHECK(outcome({"1 3:1\n"}, three) == "from 1|1|1 2:1");
    CHECK(outcome({"1 4:1\n"}, three).starts_with("1:3: "));
    CHECK(outcome({"1 1:1 3:1\n1 0:1\nx\n"}, three).starts_with("1:7: "));
    CHECK(outcome({"1 4:1 1:1 5:1\n"}, ignore) == "from 1|1|1 0:1|ignored 2");
    CHECK(outcome({"1 1:1 3:1\n1 0:1 3:2\n"}, ignore) == "from 0|1|1 1:1|2|1 0:1|ignored 2");
}

TEST(svmlight, numbers_are_the_nearest) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 3000; ++round) {
        std::string digits = std::to_string(random() >> (random() % 64));
        const std::size_t point = random() % (digits.size() + 1);
        digits.insert(point, ".");
        if (random() % 4 == 0) digits += "e" + std::to_string(int(random() % 600) - 300);
        context() = digits;
        const double expected = std::strtod(digits.c_str(), nullptr);
        const Number number = read_number(digits.data(), digits.data() + digits.size());
        CHECK(number.kind == (std::isinf(expected) ? NumberKind::too_large : NumberKind::finite));
        if (!std::isinf(expected)) CHECK(number.value == expected);
        const char* p = digits.c_str();
        double value = 0;
        if (read_simple_number(p, value) && *p == '\0') CHECK(value == expected);
    }
}

// Whatever the text, the parser ends, and pieces and threads tell the same.
TEST(svmlight, damaged_text_is_harmless) {
    std::mt19937 random(4);
    const std::string marks(" \t\r\n:#.,-+e09qidnaf\0\xff", 22);
    for (int round = 0; round < 2000; ++round) {
        std::string text = random_text(random, 1 + int(random() % 6));
        for (int changes = 1 + int(random() % 5); changes > 0 && !text.empty(); --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0: text[at] = marks[random() % marks.size()]; break;
                case 1: text.erase(at, 1 + random() % 3); break;
                case 2: text.insert(at, 1, marks[random() % marks.size()]); break;
                default: text += text.substr(at, random() % 20);
            }
        }
        context() = text;
        SvmlightOptions options;
        options.base = static_cast<IndexBase>(random() % 3);
        if (random() % 2 == 0) options.n_features = random() % 20;
        options.ignore_extra = random() % 2 == 0;
        options.labels_optional = random() % 2 == 0;
        const std::string whole = outcome({text}, options);
        const std::size_t cut = random() % (text.size() + 1);
        CHECK(outcome({text.substr(0, cut), text.substr(cut)}, options) == whole);
    }
}

TEST(svmlight, rows_leave_from_the_front) {
    SvmlightParser parser({}, 1, no_limit);
    const std::string text = "1 1:1 2:2\n2\n3 3:3\n";
    CHECK(!parser.feed(text.data(), text.size()));
    CHECK(!parser.settle());
    const SvmlightRows first = parser.take(1);
    CHECK(first.size() == 1 && first.ends[0] == 2 && first.values[1] == 2);
    CHECK(parser.available() == 2);
    const SvmlightRows second = parser.take(1);
    CHECK(second.size() == 1 && second.labels[0] == 2 && second.ends[0] == 0);
    CHECK(!parser.feed(text.data(), text.size()));
    const SvmlightRows rest = parser.take(100);
    CHECK(rest.size() == 4 && parser.available() == 0);
    CHECK(rest.labels[0] == 3 && rest.lines[0] == 3 && rest.lines[3] == 6);
    CHECK(rest.ends[0] == 1 && rest.ends[1] == 3 && rest.indices[0] == 2);
}

}  // namespace
}  // namespace polymargin::testing
