// one-vs-rest.
//
//     L_y(f) = sum_{c != y} max(0, 1 + f_c) + max(0, 1 - f_y)
//     dual: 0 <= beta_c <= C_i
//
// k independent binary SVMs, trained together.
#pragma once

#include "polymargin/machine.hpp"

namespace polymargin::machines {

inline constexpr std::string_view ovr_aliases[] = {"one-vs-rest"};
inline constexpr Machine ovr{
    .name = "ovr",
    .title = "one-vs-rest",
    .aliases = ovr_aliases,
    .join = Join::sum,
    .relative = false,
    .zero_sum = false,
    .has_others = true,
    .has_own = true,
};

}  // namespace polymargin::machines
