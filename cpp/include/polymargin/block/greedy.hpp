// Box blocks by greedy coordinate ascent, as in Shark's linear solvers: inexact. The variable that
// violates optimality most moves to its optimum, all others fixed,
//
//     b_p <- clip(b_p + G_p / (1 + rho)),
//
// until no variable violates by more than `threshold`, in units of the gradient (margins are 1),
// or 10 k steps were taken.
#pragma once

#include <algorithm>

#include "polymargin/block/variables.hpp"

namespace polymargin::block {

template <class T>
Thresholds<T> greedy(Block<T>& block, Variables& variables, double threshold, int max_iter) {
    variables.read(block);
    const double q = 1 + variables.rho;
    const int steps = max_iter > 0 ? max_iter : 10 * block.k;
    for (int step = 0; step < steps; ++step) {
        const auto [p, violation] = variables.worst();
        if (violation <= threshold) break;
        const double old = variables.b[p];
        const double to = std::clamp(old + variables.gradient(p) / q, 0.0, variables.upper[p]);
        variables.move(p, to - old);
        variables.b[p] = to;  // exactly, where it is a bound
    }
    return variables.write(block);
}

}  // namespace polymargin::block
