// Dual variables as Python keeps them: for a warm start, for `duals_`, for a pickle.
#pragma once

#include <variant>

#include "polymargin/duals.hpp"

namespace polymargin::python {

// Dual variables of either precision.
struct AnyDuals {
    std::variant<Duals<float>, Duals<double>> duals;
};

}  // namespace polymargin::python
