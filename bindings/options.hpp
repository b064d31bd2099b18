// Options as Python sees them. A struct of options lists its fields once, in fields(), which calls
// visit(name, member) for each; attributes, state and names are made from that list.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace polymargin::python {

namespace nb = nanobind;

template <class Options>
nb::dict options_state(const Options& options) {
    nb::dict state;
    Options::fields(
        [&](const char* name, auto member) { state[name] = nb::cast(options.*member); });
    return state;
}

// Fields that the state does not name keep their defaults.
template <class Options>
Options options_from(const nb::dict& state) {
    Options options;
    Options::fields([&](const char* name, auto member) {
        if (!state.contains(name)) return;
        options.*member = nb::cast<std::decay_t<decltype(options.*member)>>(state[name]);
    });
    return options;
}

template <class Options>
void bind_options(nb::module_& module, const char* name) {
    nb::class_<Options> bound(module, name);
    bound.def(nb::init<>());
    Options::fields([&](const char* field, auto member) { bound.def_rw(field, member); });
    bound.def("state", &options_state<Options>);
    bound.def_static("fields", [] {
        std::vector<std::string> names;
        Options::fields([&](const char* field, auto) { names.emplace_back(field); });
        return names;
    });
}

}  // namespace polymargin::python
