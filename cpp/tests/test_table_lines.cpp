// Lines of tables: what cells are, lines in doubt, damaged text.
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "harness.hpp"
#include "polymargin/text/table_lines.hpp"

namespace polymargin::testing {
namespace {

using namespace polymargin::text;

// All cells of a text, in words: class, value and text by row, and how many bytes were cut.
std::string outcome(const std::string& text, std::size_t width, std::size_t longest_cell = 100) {
    // A copy of its own, so that a sanitizer sees a read beyond its end.
    std::vector<char> exact(text.begin(), text.end());
    exact.push_back(0);
    const TableLines lines({exact.data(), text.size()}, ',', width, longest_cell);
    std::ostringstream words;
    words.precision(12);
    for (std::size_t row = 0; row < lines.n_rows(); ++row) {
        for (std::size_t column = 0; column < width; ++column) {
            const std::size_t place = column * lines.stride() + row;
            const double value = lines.values()[place];
            words << "mwgdo"[static_cast<int>(lines.classes()[place])];
            if (!std::isnan(value)) words << value;
            words << "[" << lines.cell(row, column) << "]";
        }
        words << "|";
    }
    words << lines.n_bytes();
    return words.str();
}

TEST(table_lines, cells) {
    CHECK(outcome("1,-2.5\n+7,1e3\n", 2) == "w1[1]d-2.5[-2.5]|w7[+7]w1000[1e3]|14");
    CHECK(outcome("1.234,0.123\n1234.567,-12.345\r\n", 2) ==
          "g1.234[1.234]d0.123[0.123]|d1234.567[1234.567]g-12.345[-12.345]|30");
    CHECK(outcome("1.234e1, 1.234 \n", 2) == "d12.34[1.234e1]g1.234[ 1.234 ]|16");
    CHECK(outcome(",NaN\n?, null\nNA,nano\n", 2) == "m[]m[NaN]|m[?]m[ null]|m[NA]o[nano]|21");
    CHECK(outcome("n/A,#N/A\n<na>,n\017a\n", 2) == "m[n/A]m[#N/A]|m[<na>]o[n\017a]|18");
    CHECK(outcome("inf,1e400\n1_0,0x1\n1e,--1\n", 2) ==
          "o[inf]o[1e400]|o[1_0]o[0x1]|o[1e]o[--1]|25");
}

TEST(table_lines, quotes_around_whole_cells) {
    CHECK(outcome("\"a,b\",\"1\"\n\"\",2", 2) == "o[a,b]w1[1]|m[]w2[2]|14");
    for (const char* cell :
         {"a\"b", "\"a\"b", "\"a\"\"b\"", "\"a", "\"a\nb\"", "\"a\rb\"", "1\""}) {
        CHECK(outcome("1,2\n3," + std::string(cell) + "\n5,6\n", 2) == "w1[1]w2[2]|4");
    }
}

TEST(table_lines, stops_at_the_first_line_in_doubt) {
    const std::string start = "1,2\n";
    for (const char* line : {"", "1", "1,2,3", "1\r2,3", " ", "1;2"}) {
        CHECK(outcome(start + line + "\n" + start, 2) == "w1[1]w2[2]|4");
    }
    CHECK(outcome(start + std::string("3,4\0", 4) + "\n", 2) == "w1[1]w2[2]|4");
    CHECK(outcome(start + "3,12345\n", 2, 4) == "w1[1]w2[2]|4");
    CHECK(outcome("\n\n\n", 50) == "0");
    CHECK(outcome("", 2) == "0");
}

TEST(table_lines, any_bytes) {
    std::mt19937 random(1);
    const std::string marks("1234.,,,,,\n\n\r\"-+eE na?\0", 24);
    for (int round = 0; round < 20000; ++round) {
        std::string text;
        for (int length = int(random() % 40); length > 0; --length) {
            text += marks[random() % marks.size()];
        }
        const std::string all = outcome(text, 2 + random() % 3);
        CHECK(!all.empty());
    }
}

}  // namespace
}  // namespace polymargin::testing
