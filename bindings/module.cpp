// One extension module per SIMD level; they differ in compiler flags and name only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "rows.hpp"

NB_MODULE(POLYMARGIN_MODULE, module) {
    // Interpreters that end with objects alive are none of a user's business.
    nanobind::set_leak_warnings(false);
    module.def("simd_level", [] { return std::string(POLYMARGIN_LEVEL); });
    polymargin::python::bind_rows(module);
    polymargin::python::bind_block(module);
    polymargin::python::bind_duals(module);
    polymargin::python::bind_linear(module);
    polymargin::python::bind_local(module);
    polymargin::python::bind_dealt(module);
    polymargin::python::bind_stream(module);
    polymargin::python::bind_predict(module);
    polymargin::python::bind_kernel_values(module);
    polymargin::python::bind_kernel(module);
    polymargin::python::bind_decomposition(module);
}
