// A module of its own, without a level, so that it can be asked before one is chosen.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "polymargin/cpu.hpp"

NB_MODULE(_cpu, module) { module.def("levels", &polymargin::cpu_levels); }
