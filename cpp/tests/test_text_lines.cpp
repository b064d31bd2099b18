// Lines of texts: labels and texts, escapes, lines in doubt.
#include <sstream>
#include <string>
#include <vector>

#include "harness.hpp"
#include "polymargin/text/text_lines.hpp"

namespace polymargin::testing {
namespace {

using namespace polymargin::text;

// Line, label and text of all rows, then how many lines and bytes are cut.
std::string outcome(const std::string& text, bool has_labels = true) {
    // A copy of its own, so that a sanitizer sees a read beyond its end.
    const std::vector<char> exact(text.begin(), text.end());
    const TextLines lines({exact.data(), exact.size()}, has_labels);
    std::ostringstream words;
    for (const TextLines::Row& row : lines.rows()) {
        CHECK(row.byte == 0 || text[row.byte - 1] == '\n');
        words << row.line;
        if (has_labels) words << "[" << lines.labels()[row.label] << "]";
        words << "[" << row.text << "]";
    }
    words << lines.n_lines() << " " << lines.n_bytes();
    return words.str();
}

TEST(text_lines, labels_and_texts) {
    CHECK(outcome("a\tone two\nb\tthree\n") == "0[a][one two]1[b][three]2 18");
    CHECK(outcome("a\tx\nb\ty\na\tz") == "0[a][x]1[b][y]2[a][z]3 11");
    CHECK(outcome("a\tx\r\nb\t\n\n\r\na\t \r\r\n") == "0[a][x]1[b][]4[a][ \r]5 17");
    CHECK(outcome("") == "0 0");
    CHECK(outcome("\n\n") == "2 2");
    CHECK(outcome(" \t\x1c\r\na\tb\n \v\f") == "1[a][b]3 12");
    CHECK(outcome("\t\n a \n  \n", false) == "1[ a ]3 9");
    CHECK(outcome("one\ntwo three\n", false) == "0[one]1[two three]2 14");
    CHECK(outcome("\ta\n") == "0[][a]1 3");
}

TEST(text_lines, stops_at_the_first_line_in_doubt) {
    const std::string start = "a\tb\n";
    for (const std::string& line :
         {std::string("a"), std::string("a\tb\tc"), std::string("a\tb\0c", 5)}) {
        CHECK(outcome(start + line + "\n" + start) == "0[a][b]1 4");
    }
    CHECK(outcome("one\na\tb\n", false) == "0[one]1 4");
}

TEST(text_lines, many_labels) {
    std::string text, expected;
    for (int i = 0; i < 1000; ++i) {
        const std::string label = std::to_string(i * i % 37);
        text += label + "\tx\n";
        expected += std::to_string(i) + "[" + label + "][x]";
    }
    CHECK(outcome(text) == expected + "1000 " + std::to_string(text.size()));
}

TEST(text_lines, escapes) {
    CHECK(unescaped("\\\\ \\t\\r\\n") == "\\ \t\r\n");
    CHECK(unescaped("\\a\\\\n\\") == "\\a\\n\\");
    CHECK(unescaped("\\\\\\t") == "\\\t");
    CHECK(unescaped("") == "");
}

}  // namespace
}  // namespace polymargin::testing
