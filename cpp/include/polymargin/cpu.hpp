// The SIMD levels that this processor can run.
#pragma once

#include <string_view>
#include <vector>

namespace polymargin {

// Best first; the last one is there everywhere.
inline std::vector<std::string_view> cpu_levels() {
    std::vector<std::string_view> levels;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
        levels.push_back("avx512");
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) levels.push_back("avx2");
#endif
    levels.push_back("baseline");
    return levels;
}

}  // namespace polymargin
