// One extension module per SIMD level; they differ in compiler flags and name only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "rows.hpp"

namespace {

// Levels this processor can run, best first.
std::vector<std::string> cpu_levels() {
    std::vector<std::string> levels;
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

}  // namespace

NB_MODULE(POLYMARGIN_MODULE, module) {
    // Interpreters that end with objects alive are none of a user's business.
    nanobind::set_leak_warnings(false);
    module.def("simd_level", [] { return std::string(POLYMARGIN_LEVEL); });
    module.def("cpu_levels", &cpu_levels);
    polymargin::python::bind_rows(module);
    polymargin::python::bind_block(module);
    polymargin::python::bind_duals(module);
    polymargin::python::bind_linear(module);
    polymargin::python::bind_stream(module);
    polymargin::python::bind_predict(module);
    polymargin::python::bind_kernel(module);
    polymargin::python::bind_decomposition(module);
}
