// A machine is a loss built from hinges. Every machine of the family minimises
//
//     P(W) = 1/2 sum_c |w_c|^2 + sum_i C_i L_{y_i}(f(x_i)),     f_c(x) = w_c^T x,
//
// some under sum_c w_c = 0, with hinges h_c = max(0, t_c - nu_c^T f), one for each class c:
//
//     others, c != y:  nu_c = e_y - e_c (relative)  or  -e_c (absolute)
//     own,    c == y:  nu_y = e_y
//
// joined by a weighted sum or by the maximum. Its dual has one variable beta_c per hinge,
//
//     D(beta) = sum_ic t_c beta_ic - 1/2 |W|^2,    W = sum_i a_i x_i^T,  a_i = sum_c beta_ic nu_c,
//
// in a box 0 <= beta_c <= C_i weight_c (sum) or a simplex beta >= 0, sum_c beta_c <= C_i (max).
// This description is all the solvers know of a machine.
#pragma once

#include <span>
#include <string_view>

namespace polymargin {

enum class Join { sum, max };

struct Machine {
    std::string_view name;
    std::string_view title;
    std::span<const std::string_view> aliases;
    Join join;
    bool relative;    // rows e_y - e_c, else -e_c
    bool zero_sum;    // sum_c w_c = 0
    bool has_others;  // hinges of the classes c != y
    bool has_own;     // hinge of the class y (absolute machines)
    double weight_other = 1;
    double weight_own = 1;
    // Target margin of the own class: margin_own + margin_own_per_class * k.
    double margin_own = 1;
    double margin_own_per_class = 0;

    // sum_pq beta_p beta_q nu_p^T nu_q = |beta|^2 + rho (s^T beta)^2, s_c = 1, s_y = -1.
    constexpr double rho(int k) const { return relative ? 1.0 : zero_sum ? -1.0 / k : 0.0; }
    constexpr double own_margin(int k) const { return margin_own + margin_own_per_class * k; }
    static constexpr double other_margin = 1;
    constexpr bool simplex() const { return join == Join::max; }
    // One problem for each class, of that class against all others.
    constexpr bool separable() const { return !simplex() && !relative && !zero_sum; }
};

}  // namespace polymargin
