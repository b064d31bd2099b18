// reinforced multicategory.
//
//     L_y(f) = (1-gamma) sum_{c != y} max(0, 1 + f_c) + gamma max(0, k - 1 - f_y),  sum_c w_c = 0
//     dual: 0 <= beta_c <= (1-gamma) C_i,  0 <= beta_y <= gamma C_i
//
// Liu & Yuan (2011) with gamma = 1/2.
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr std::string_view rm_aliases[] = {"reinforced"};
inline constexpr Machine rm{
    .name = "rm",
    .title = "reinforced multicategory",
    .aliases = rm_aliases,
    .join = Join::sum,
    .relative = false,
    .zero_sum = true,
    .has_others = true,
    .has_own = true,
    .weight_other = 0.5,
    .weight_own = 0.5,
    .margin_own = -1,
    .margin_own_per_class = 1,
};

}  // namespace polymargin::machines
