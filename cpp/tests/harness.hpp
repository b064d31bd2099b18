// The smallest test harness that does: TEST(group, name) registers a test, CHECK and its kin
// throw where something is wrong, main() runs what it is asked for and counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace polymargin::testing {

struct Test {
    std::string_view group, name;
    std::function<void()> body;
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Register {
    Register(std::string_view group, std::string_view name, std::function<void()> body) {
        tests().push_back({group, name, std::move(body)});
    }
};

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What the running test is busy with; part of a failure's message.
inline std::string& context() {
    static std::string text;
    return text;
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
    std::ostringstream message;
    message << file << ":" << line << ": " << what;
    if (!context().empty()) message << " [" << context() << "]";
    throw Failure(message.str());
}

inline void check_close(double a, double b, double relative, const char* file, int line) {
    // Written so that a NaN fails.
    if (std::abs(a - b) <= relative * std::max({1.0, std::abs(a), std::abs(b)})) return;
    std::ostringstream what;
    what.precision(17);
    what << a << " and " << b << " differ by more than " << relative;
    fail(file, line, what.str());
}

inline void check_at_most(double value, double bound, const char* file, int line) {
    if (value <= bound) return;
    std::ostringstream what;
    what << value << " is above " << bound;
    fail(file, line, what.str());
}

}  // namespace polymargin::testing

#define TEST(group, name)                                                                 \
    static void group##_##name();                                                         \
    static const polymargin::testing::Register register_##group##_##name(#group, #name,   \
                                                                         group##_##name); \
    static void group##_##name()

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) polymargin::testing::fail(__FILE__, __LINE__, #condition); \
    } while (false)

#define CHECK_CLOSE(a, b, relative) \
    polymargin::testing::check_close(a, b, relative, __FILE__, __LINE__)

#define CHECK_AT_MOST(value, bound) \
    polymargin::testing::check_at_most(value, bound, __FILE__, __LINE__)
