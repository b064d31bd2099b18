// Lee–Lin–Wahba.
//
//     L_y(f) = sum_{c != y} max(0, 1 + f_c),  sum_c w_c = 0
//     dual: 0 <= beta_c <= C_i
//
// Lee, Lin & Wahba (2004); Dogan et al. (2011).
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr std::string_view llw_aliases[] = {"lee-lin-wahba"};
inline constexpr Machine llw{
    .name = "llw",
    .title = "Lee–Lin–Wahba",
    .aliases = llw_aliases,
    .join = Join::sum,
    .relative = false,
    .zero_sum = true,
    .has_others = true,
    .has_own = false,
};

}  // namespace polymargin::machines
