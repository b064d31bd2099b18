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

#include <cstdint>
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

    constexpr bool simplex() const { return join == Join::max; }
    // One problem for each class, of that class against all others.
    constexpr bool separable() const { return !simplex() && !relative && !zero_sum; }

    // sum_pq beta_p beta_q nu_p^T nu_q = |beta|^2 + rho (s^T beta)^2, s_c = 1, s_y = -1, with k
    // classes in all, wherever their weights are.
    constexpr double rho(int k) const { return relative ? 1.0 : zero_sum ? -1.0 / k : 0.0; }

    static constexpr double other_margin = 1;
    constexpr double own_margin(int k) const { return margin_own + margin_own_per_class * k; }
    constexpr double margin(bool own, int k) const { return own ? own_margin(k) : other_margin; }

    constexpr bool has_variable(bool own) const { return own ? has_own : has_others; }
    // Of one variable, 0 <= beta_c; in a simplex their sum may not exceed it either.
    constexpr double upper(bool own, double C) const {
        return simplex() ? C : C * (own ? weight_own : weight_other);
    }

    // a += beta nu_c for an example of class y: calls add(class, change).
    template <class V, class Add>
    constexpr void for_each_alpha(std::int32_t y, std::int32_t c, V beta, Add&& add) const {
        if (c == y && !relative) {
            add(y, beta);
        } else {
            add(c, -beta);
            if (relative) add(y, beta);
        }
    }

    // nu_c^T f = base - f_c of the other classes, nu_y^T f = f_y - mean; the mean over all classes
    // is 0 unless the machine is zero-sum.
    template <class V>
    constexpr V base(V own_score, V mean) const {
        return relative ? own_score : mean;
    }

    // The gradients of D: g_c = t_c - nu_c^T f = other + f_c, and g_y = own.
    template <class V>
    struct Gradients {
        V other, own;
    };
    template <class V>
    constexpr Gradients<V> gradients(V own_score, V mean, int k) const {
        return {V(other_margin) - base(own_score, mean), V(own_margin(k)) - (own_score - mean)};
    }
};

}  // namespace polymargin
