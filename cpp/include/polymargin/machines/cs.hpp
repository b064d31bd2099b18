// Crammer–Singer.
//
//     L_y(f) = max_{c != y} max(0, 1 - (f_y - f_c))
//     dual: beta_c >= 0, sum_c beta_c <= C_i
//
// Crammer & Singer (2001); Blondel et al. (2014), eq. (2).
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr std::string_view cs_aliases[] = {"crammer-singer"};
inline constexpr Machine cs{
    .name = "cs",
    .title = "Crammer–Singer",
    .aliases = cs_aliases,
    .join = Join::max,
    .relative = true,
    .zero_sum = false,
    .has_others = true,
    .has_own = false,
};

}  // namespace polymargin::machines
