// Any block by bisection of its root function, to a tolerance relative to the bounds: inexact.
// Blondel et al. (2014), algorithm 3, with the bracket [max z - capacity, max z]. The result is
// made feasible, and a line search from the old point keeps the dual objective from falling.
#pragma once

#include <algorithm>
#include <cmath>

#include "polymargin/block/newton.hpp"
#include "polymargin/block/sort.hpp"
#include "polymargin/block/variables.hpp"

namespace polymargin::block {

template <class Evaluate>
double bisect(double low, double high, int rising, double tolerance, const Evaluate& evaluate) {
    double x = low;
    for (int step = 0; step < 200; ++step) {
        x = low + (high - low) / 2;
        const double value = rising * evaluate(x).value;
        if (std::abs(value) <= tolerance || x == low || x == high) break;
        (value > 0 ? high : low) = x;
    }
    return x;
}

template <class T>
Thresholds<T> bisection_thresholds(const Block<T>& block, double tol) {
    if (!block.simplex) {
        if (block.rho == 0) return {0, 0};
        const BoxRoot<T> phi{block};
        const double range = phi.range();
        const double tolerance = tol * std::max<double>(block.upper, block.upper_own);
        const double shift = block.rho * bisect(-range, range, -1, tolerance, phi);
        return {T(shift), T(-shift)};
    }
    const double C = block.capacity, tolerance = tol * C;
    if (block.upper_own > 0) {
        const FreeRoot<T> free{block};
        const double delta = bisect(free.low(), free.high(), -1, tolerance, free);
        if (free.sum(delta) <= C + tolerance) return free.thresholds(delta);
        const FullRoot<T> full{block};
        return full.thresholds(bisect(full.low(), full.high(), +1, tolerance, full));
    }
    const SimplexRoot function(block);
    const double reach = 2 * C + std::abs(double(block.offset));
    const double low = function.full ? block.largest - C : -reach;
    const double high = function.full ? double(block.largest) : reach;
    const double theta = bisect(low, high, +1, tolerance, [&](double x) -> ValueSlope {
        double S = 0, m = 0;
        for (int at = 0; at < block.count; ++at) {
            if (block.z[at] > x) S += block.z[at], m += 1;
        }
        if (block.group.z > x)
            S += block.group.count * double(block.group.z), m += block.group.count;
        return {function.value(x, m, S), 0};
    });
    return {T(theta), T(0)};
}

// Applies approximate thresholds so that the point stays feasible and the objective improves.
template <class T>
Thresholds<T> improve_by(const Thresholds<T>& thresholds, Block<T>& block, Variables& variables,
                         std::vector<double>& old) {
    variables.read(block);
    old = variables.b;
    double sum = 0;
    for (std::size_t p = 0; p < variables.size(); ++p) {
        const double shift = variables.sign[p] > 0 ? thresholds.other : thresholds.own;
        variables.b[p] = std::clamp(variables.z[p] - block.offset - shift, 0.0, variables.upper[p]);
        sum += variables.b[p];
    }
    // Where the simplex is full at the solution, its sum is known exactly.
    const bool full = block.simplex && block.upper_own == 0 && SimplexRoot(block).full;
    if (sum > 0 && (full || (block.simplex && sum > block.capacity))) {
        for (double& b : variables.b) b *= block.capacity / sum;
    }
    variables.search_from(old);
    return variables.write(block);
}

}  // namespace polymargin::block
