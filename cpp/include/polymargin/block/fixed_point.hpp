// Simplex blocks without an own variable (CS, ADM) by Crammer & Singer's fixed-point iteration
// (2001, figure 3): inexact, each step shrinks the error by 1 - 1/k.
//
//     theta_1 = min_r D_r,    theta <- 1/k sum_r max(theta, D_r) - capacity/k,
//     until |change of theta| <= tol |theta|,    b_r = max(0, D_r - theta)
//
// For CS the own class takes part as what is left of the simplex, b_y = capacity - sum_c b_c: with
// rho = 1 the block is a projection onto the simplex of all k classes, D_c = z_c + B and
// D_y = capacity. Differences from the figure:
//     - theta may be 0, and a common shift of all D moves it: the stop is relative to the larger of
//       |theta| and the capacity;
//     - among many classes those that lie below every possible theta are left out of theta_1;
//     - the result is made feasible, and a line search keeps the objective from falling
//       (improve_by in bisection.hpp).
// ADM is not in the paper: where sum_c b_c = capacity at the solution, its D_c are the z_c of the
// k - 1 other classes; else theta <- rho (h(theta) - B), h(theta) = sum_c max(0, z_c - theta).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "polymargin/block/sort.hpp"

namespace polymargin::block {

template <class T>
Thresholds<T> fixed_point_thresholds(const Block<T>& block, double tol, int max_iter) {
    const SimplexRoot function(block);
    const double capacity = block.capacity;
    const bool relative = block.rho > 0;
    constexpr T without_variable = std::numeric_limits<T>::lowest() / T(1e9);  // see Block
    const double count = relative ? block.k : block.k - 1;
    // All D less B and the offset, as z is given.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double own = relative ? capacity - block.total - block.offset : -infinity;
    double theta = relative ? own : infinity;
    for (int at = 0; at < block.count; ++at) {
        if (block.z[at] > without_variable) theta = std::min<double>(theta, block.z[at]);
    }
    if (block.group.count) theta = std::min<double>(theta, block.group.z);
    const int steps = max_iter > 0 ? max_iter : 100 * block.k + 1000;
    for (int step = 0; step < steps; ++step) {
        double excess = std::max(0.0, own - theta);
        for (int at = 0; at < block.count; ++at) excess += std::max(0.0, block.z[at] - theta);
        excess += block.group.count * std::max(0.0, block.group.z - theta);
        const double change = relative || function.full
                                  ? (excess - capacity) / count
                                  : block.rho * (excess - block.total) - block.offset - theta;
        theta += change;
        if (std::abs(change) <= tol * std::max(std::abs(theta), capacity)) break;
    }
    return {T(theta), T(0)};
}

}  // namespace polymargin::block
