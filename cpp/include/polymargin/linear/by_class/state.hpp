// The problem of one class c against all others, of a machine whose classes share nothing,
//
//     P_c(w) = 1/2 |w|^2 + sum_i u_i max(0, g_i),   g_i = t_i - s_i w^T x_i,
//     D_c(beta) = sum_i t_i beta_i - 1/2 |w|^2,     w = sum_i s_i beta_i x_i,   0 <= beta_i <= u_i,
//
// s_i = 1 and (u_i, t_i) bound and margin of the own class where y_i = c, else s_i = -1 and those
// of others; and how far its solution is. P = sum_c P_c and D = sum_c D_c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "polymargin/linear/problem.hpp"

namespace polymargin {

// An example that descent on the problem of a class may move.
template <class T>
struct Candidate {
    std::uint32_t i;
    T beta;
};

template <class T>
struct ClassState {
    // By ascending example: all of the class itself, all with beta > 0, and others near it.
    std::vector<Candidate<T>> candidates;
    // As the last look at all examples found them.
    double gap = std::numeric_limits<double>::infinity();
    double primal = 0, dual = 0, violation = 0;
    std::size_t weights = 0, duals = 0;  // that are not zero
};

// No example is of this class.
inline constexpr std::int32_t no_class = -1;

template <class Rows>
struct ClassProblem {
    using T = typename Rows::value_type;

    const LinearProblem<Rows>& problem;
    std::int32_t c;

    bool own(std::size_t i) const { return problem.labels[i] == c; }
    bool has_variable(std::size_t i) const { return problem.machine.has_variable(own(i)); }
    double upper(std::size_t i) const { return problem.machine.upper(own(i), problem.upper[i]); }
    double margin(std::size_t i) const { return problem.machine.margin(own(i), problem.k); }
    T sign(std::size_t i) const { return own(i) ? T(1) : T(-1); }
};

}  // namespace polymargin
