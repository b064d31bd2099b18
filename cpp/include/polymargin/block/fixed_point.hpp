// Simplex blocks without an own variable (CS, ADM) by Crammer & Singer's fixed-point iteration
// (2001, figure 3): inexact, each step shrinks the error by 1 - 1/k. With D_c = z_c, their
//
//     theta <- 1/k sum_c max(theta, D_c) - capacity/k
//
// is theta <- theta + (h(theta) - capacity)/k; where sum_c b_c < capacity the same step is taken
// on lambda(theta). The stop is relative to theta or, as that may be 0, to the capacity.
#pragma once

#include "polymargin/block/sort.hpp"

namespace polymargin::block {

template <class T>
Thresholds<T> fixed_point_thresholds(const Block<T>& block, double tol, int max_iter) {
    const SimplexRoot function(block);
    const double k = block.count;
    const double slope = function.full ? k : function.rho > 0 ? 1 + function.rho * k : 1;
    double theta = double(block.largest) - block.capacity;
    const int steps = max_iter > 0 ? max_iter : 100 * block.k + 1000;
    for (int step = 0; step < steps; ++step) {
        double S = 0, m = 0;
        for (int at = 0; at < block.count; ++at) {
            if (block.z[at] > theta) S += block.z[at], m += 1;
        }
        const double change = function.value(theta, m, S) / slope;
        theta -= change;
        if (std::abs(change) <= tol * std::max(std::abs(theta), double(block.capacity))) break;
    }
    return {T(theta), T(0)};
}

}  // namespace polymargin::block
