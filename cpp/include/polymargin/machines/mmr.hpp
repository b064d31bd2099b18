// maximum margin regression.
//
//     L_y(f) = max(0, 1 - f_y),  sum_c w_c = 0
//     dual: 0 <= beta_y <= C_i
//
// Szedmak, Shawe-Taylor & Parado-Hernandez (2006).
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr Machine mmr{
    .name = "mmr",
    .title = "maximum margin regression",
    .aliases = {},
    .join = Join::sum,
    .relative = false,
    .zero_sum = true,
    .has_others = false,
    .has_own = true,
};

}  // namespace polymargin::machines
