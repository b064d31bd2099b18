#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "polymargin/block/example.hpp"
#include "polymargin/block/solver.hpp"
#include "polymargin/machines/registry.hpp"
#include "rows.hpp"

namespace polymargin::python {

namespace {

struct MachineInfo {
    const Machine* machine;
};

template <class T>
nb::object solve_block(const std::string& name, const std::string& solver_name, Vector<T> gradient,
                       Vector<T> beta, double q, double C, int label, double tol, int max_iter) {
    const Machine* machine = find_machine(name);
    const BlockSolverInfo* info = find_block_solver(solver_name);
    const int k = static_cast<int>(gradient.size());
    if (!machine || !info || !info->defined_for(*machine)) {
        throw nb::value_error("no such machine or block solver, or not defined together");
    }
    if (beta.size() != gradient.size() || label < 0 || label >= k || !(q > 0) || !(C > 0)) {
        throw nb::value_error("gradient and beta need k entries, label in [0, k), q > 0, C > 0");
    }
    BlockSolver<T> solver({info->kind, tol, max_iter});
    ExampleBlock<T> example(*machine, k);
    std::vector<T> out(k);
    example.solve(gradient.data(), beta.data(), T(q), T(C), label, solver, out.data());
    return to_numpy(std::move(out));
}

}  // namespace

void bind_block(nb::module_& module) {
    nb::class_<MachineInfo>(module, "MachineInfo")
        .def_prop_ro("name", [](const MachineInfo& m) { return std::string(m.machine->name); })
        .def_prop_ro("title", [](const MachineInfo& m) { return std::string(m.machine->title); })
        .def_prop_ro("aliases",
                     [](const MachineInfo& m) {
                         std::vector<std::string> names;
                         for (const auto alias : m.machine->aliases) names.emplace_back(alias);
                         return names;
                     })
        .def_prop_ro("relative", [](const MachineInfo& m) { return m.machine->relative; })
        .def_prop_ro("zero_sum", [](const MachineInfo& m) { return m.machine->zero_sum; })
        .def_prop_ro("simplex", [](const MachineInfo& m) { return m.machine->simplex(); })
        .def_prop_ro("separable", [](const MachineInfo& m) { return m.machine->separable(); })
        .def_prop_ro("has_others", [](const MachineInfo& m) { return m.machine->has_others; })
        .def_prop_ro("has_own", [](const MachineInfo& m) { return m.machine->has_own; })
        .def(
            "own_margin", [](const MachineInfo& m, int k) { return m.machine->own_margin(k); },
            nb::arg("n_classes"))
        .def_prop_ro("weight_other", [](const MachineInfo& m) { return m.machine->weight_other; })
        .def_prop_ro("weight_own", [](const MachineInfo& m) { return m.machine->weight_own; })
        .def_prop_ro("block_solvers", [](const MachineInfo& m) {
            std::vector<std::string> names;
            for (const BlockSolverInfo& info : registered_block_solvers) {
                if (info.defined_for(*m.machine)) names.emplace_back(info.name);
            }
            return names;
        });
    module.def("machines", [] {
        std::vector<MachineInfo> machines;
        for (const Machine& machine : registered_machines) machines.push_back({&machine});
        return machines;
    });
    const auto define = [&]<class T>(T) {
        module.def("solve_block", &solve_block<T>, nb::arg("machine"), nb::arg("block_solver"),
                   nb::arg("gradient").noconvert(), nb::arg("beta").noconvert(), nb::arg("q"),
                   nb::arg("C"), nb::arg("label"), nb::arg("block_tol") = 0.0,
                   nb::arg("block_max_iter") = 0);
    };
    define(float{});
    define(double{});
}

}  // namespace polymargin::python
