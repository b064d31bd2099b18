// Weston–Watkins.
//
//     L_y(f) = sum_{c != y} max(0, 1 - (f_y - f_c))
//     dual: 0 <= beta_c <= C_i
//
// Weston & Watkins (1999); Wang & Scott (2021), problem (P).
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr std::string_view ww_aliases[] = {"weston-watkins"};
inline constexpr Machine ww{
    .name = "ww",
    .title = "Weston–Watkins",
    .aliases = ww_aliases,
    .join = Join::sum,
    .relative = true,
    .zero_sum = false,
    .has_others = true,
    .has_own = false,
};

}  // namespace polymargin::machines
