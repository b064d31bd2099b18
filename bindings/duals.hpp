// Dual variables as Python keeps them: for a warm start, for `duals_`, for a pickle.
#pragma once

#include <nanobind/nanobind.h>

#include <variant>

#include "polymargin/duals.hpp"
#include "polymargin/feasible.hpp"

namespace polymargin::python {

// Dual variables of either precision.
struct AnyDuals {
    std::variant<Duals<float>, Duals<double>> duals;
};

// Where a fit starts: at zero, or at the given variables clipped to the bounds of the problem.
template <class T, class Problem>
Duals<T> start_duals(const Problem& problem, const AnyDuals* warm) {
    Duals<T> duals(problem.size(), problem.k);
    if (!warm) return duals;
    const auto* given = std::get_if<Duals<T>>(&warm->duals);
    if (!given || given->size() != duals.size() || given->classes() != duals.classes()) {
        throw nanobind::value_error("the warm start has another shape or precision");
    }
    clip_into(*given, problem, duals);
    return duals;
}

}  // namespace polymargin::python
