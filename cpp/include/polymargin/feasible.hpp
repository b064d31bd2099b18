// The dual variables of one example in double, moved inside their box or simplex: single precision
// and inexact block solvers overstep a bound by a rounding error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/lanes.hpp"
#include "polymargin/machine.hpp"

namespace polymargin {

// sum_c beta_c of example i, each cut to its own bounds. `duals` is anything with the for_each() of
// Duals.
template <class Variables>
double sum_within_bounds(const Machine& machine, const Variables& duals, std::size_t i,
                         std::int32_t y, double C) {
    double sum = 0;
    duals.for_each(i, [&](std::int32_t c, auto value) {
        sum += std::clamp(double(value), 0.0, machine.upper(c == y, C));
    });
    return sum;
}

// Calls body(c, beta_c) for the positive variables of example i, by ascending class. `sum` is that
// of the function above over all classes, wherever the variables of the others are.
template <class Variables, class Body>
void for_each_feasible(const Machine& machine, const Variables& duals, std::size_t i,
                       std::int32_t y, double C, double sum, Body&& body) {
    const double scale = machine.simplex() && sum > C ? C / sum : 1;
    duals.for_each(i, [&](std::int32_t c, auto value) {
        const double beta = std::clamp(double(value), 0.0, machine.upper(c == y, C)) * scale;
        if (beta > 0) body(c, beta);
    });
}

// The same for an example whose variables are all here; returns their sum.
template <class Variables, class Body>
double for_each_feasible(const Machine& machine, const Variables& duals, std::size_t i,
                         std::int32_t y, double C, Body&& body) {
    const double sum = sum_within_bounds(machine, duals, i, y, C);
    for_each_feasible(machine, duals, i, y, C, sum, body);
    return machine.simplex() ? std::min(sum, C) : sum;
}

// Calls body(lane, a_c) for the lanes of a = sum_c beta_c nu_c, centred over all classes where the
// machine is zero-sum; else for those that are not 0. `dense` has an entry for each class, all 0
// before and after.
template <class T, class Body>
void for_each_alpha(const Machine& machine, const Duals<T>& duals, std::size_t i, std::int32_t y,
                    double C, const Lanes& lanes, std::span<double> dense, Body&& body) {
    if (machine.zero_sum) {
        double own = 0;
        const double total = for_each_feasible(machine, duals, i, y, C, [&](auto c, double beta) {
            if (c == y) own = beta;
            dense[c] = c == y ? beta : -beta;
        });
        if (total == 0) return;
        const double mean = (own - (total - own)) / static_cast<double>(dense.size());
        for (int lane = 0; lane < lanes.size(); ++lane) {
            body(lane, dense[lanes.class_of(lane)] - mean);
        }
        duals.for_each(i, [&](std::int32_t c, T) { dense[c] = 0; });
        return;
    }
    const double total = for_each_feasible(machine, duals, i, y, C, [&](auto c, double beta) {
        const int lane = lanes.lane_of(c);
        if (lane >= 0) body(lane, !machine.relative && c == y ? beta : -beta);
    });
    const int own = lanes.lane_of(y);
    if (machine.relative && total > 0 && own >= 0) body(own, total);
}

// Copies dual variables, perhaps of another precision, clipped to the bounds of a problem.
template <class Problem, class From, class T>
void clip_into(const Duals<From>& from, const Problem& problem, Duals<T>& to) {
    std::vector<DualEntry<T>> entries;
    for (std::size_t i = 0; i < from.size(); ++i) {
        entries.clear();
        for_each_feasible(problem.machine, from, i, problem.labels[i], problem.upper[i],
                          [&](std::int32_t c, double beta) { entries.push_back({c, T(beta)}); });
        to.assign(i, entries);
    }
}

}  // namespace polymargin
