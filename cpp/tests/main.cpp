// Usage: core_tests [--list] [--repeat N] [group ...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness.hpp"
#include "polymargin/cpu.hpp"

namespace {

constexpr int skipped = 77;  // as CTest is told

bool level_is_supported() {
    const auto levels = polymargin::cpu_levels();
    return std::ranges::find(levels, POLYMARGIN_LEVEL) != levels.end();
}

bool is_wanted(const polymargin::testing::Test& test, const std::vector<std::string_view>& groups) {
    if (groups.empty()) return true;
    for (const std::string_view group : groups) {
        if (group == test.group) return true;
    }
    return false;
}

bool passes(const polymargin::testing::Test& test) {
    std::printf("%.*s.%.*s ... ", int(test.group.size()), test.group.data(), int(test.name.size()),
                test.name.data());
    std::fflush(stdout);
    polymargin::testing::context().clear();
    const auto start = std::chrono::steady_clock::now();
    try {
        test.body();
    } catch (const std::exception& error) {
        std::printf("FAILED\n    %s\n", error.what());
        return false;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("ok (%.2f s)\n", elapsed.count());
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    int repeats = 1;
    bool list = false;
    std::vector<std::string_view> groups;
    for (int at = 1; at < argc; ++at) {
        if (!std::strcmp(argv[at], "--repeat") && at + 1 < argc) repeats = std::atoi(argv[++at]);
        else if (!std::strcmp(argv[at], "--list")) list = true;
        else groups.emplace_back(argv[at]);
    }
    if (!level_is_supported()) {
        std::printf("this processor does not support %s\n", POLYMARGIN_LEVEL);
        return skipped;
    }
    int passed = 0, failed = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (const auto& test : polymargin::testing::tests()) {
            if (!is_wanted(test, groups)) continue;
            if (list) std::printf("%.*s\n", int(test.name.size()), test.name.data());
            else ++(passes(test) ? passed : failed);
        }
    }
    if (list) return EXIT_SUCCESS;
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}
