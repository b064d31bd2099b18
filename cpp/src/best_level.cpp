// Prints the best SIMD level of the processor that builds; run by CMake.
#include <cstdio>

#include "polymargin/cpu.hpp"

int main() { std::fputs(polymargin::cpu_levels().front().data(), stdout); }
