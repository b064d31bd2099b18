// absolute discriminative maximum.
//
//     L_y(f) = max_{c != y} max(0, 1 + f_c),  sum_c w_c = 0
//     dual: beta_c >= 0, sum_c beta_c <= C_i
//
// Dogan, Glasmachers & Igel (2016).
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr Machine adm{
    .name = "adm",
    .title = "absolute discriminative maximum",
    .aliases = {},
    .join = Join::max,
    .relative = false,
    .zero_sum = true,
    .has_others = true,
    .has_own = false,
};

}  // namespace polymargin::machines
