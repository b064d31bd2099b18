// absolute total sum.
//
//     L_y(f) = sum_{c != y} max(0, 1 + f_c) + max(0, 1 - f_y),  sum_c w_c = 0
//     dual: 0 <= beta_c <= C_i
//
// Dogan, Glasmachers & Igel (2016).
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr Machine ats{
    .name = "ats",
    .title = "absolute total sum",
    .aliases = {},
    .join = Join::sum,
    .relative = false,
    .zero_sum = true,
    .has_others = true,
    .has_own = true,
};

}  // namespace polymargin::machines
