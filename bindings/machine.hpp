// Machines by the name Python passes.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "polymargin/machines/registry.hpp"

namespace polymargin::python {

namespace nb = nanobind;

inline const Machine& machine_of(const std::string& name) {
    const Machine* machine = find_machine(name);
    if (!machine) throw nb::value_error(("no machine is called '" + name + "'").c_str());
    return *machine;
}

}  // namespace polymargin::python
