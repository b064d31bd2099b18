// The dual variables of one example in double, moved inside their box or simplex: single precision
// and inexact block solvers overstep a bound by a rounding error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/machine.hpp"

namespace polymargin {

// Calls body(c, beta_c) for the positive variables of example i, by ascending class, and returns
// their sum. `duals` is anything with the for_each() of Duals.
template <class Variables, class Body>
double for_each_feasible(const Machine& machine, const Variables& duals, std::size_t i,
                         std::int32_t y, double C, Body&& body) {
    using T = typename Variables::value_type;
    const auto inside = [&](std::int32_t c, T value) {
        const double weight = c == y ? machine.weight_own : machine.weight_other;
        return std::clamp(double(value), 0.0, machine.simplex() ? C : C * weight);
    };
    double sum = 0;
    duals.for_each(i, [&](std::int32_t c, T value) { sum += inside(c, value); });
    const double scale = machine.simplex() && sum > C ? C / sum : 1;
    duals.for_each(i, [&](std::int32_t c, T value) {
        const double beta = inside(c, value) * scale;
        if (beta > 0) body(c, beta);
    });
    return sum * scale;
}

// Calls body(c, a_c) for the classes first <= c < last of a = sum_c beta_c nu_c, centred over all
// classes where the machine is zero-sum; else for those that are not 0. `dense` has k entries, all
// 0 before and after.
template <class T, class Body>
void for_each_alpha(const Machine& machine, const Duals<T>& duals, std::size_t i, std::int32_t y,
                    double C, std::size_t first, std::size_t last, std::span<double> dense,
                    Body&& body) {
    const auto in_range = [&](std::int32_t c) {
        return std::size_t(c) >= first && std::size_t(c) < last;
    };
    if (machine.zero_sum) {
        double own = 0;
        const double total = for_each_feasible(machine, duals, i, y, C, [&](auto c, double beta) {
            if (c == y) own = beta;
            dense[c] = c == y ? beta : -beta;
        });
        if (total == 0) return;
        const double mean = (own - (total - own)) / static_cast<double>(dense.size());
        for (std::size_t c = first; c < last; ++c) body(std::int32_t(c), dense[c] - mean);
        duals.for_each(i, [&](std::int32_t c, T) { dense[c] = 0; });
        return;
    }
    const double total = for_each_feasible(machine, duals, i, y, C, [&](auto c, double beta) {
        if (in_range(c)) body(c, !machine.relative && c == y ? beta : -beta);
    });
    if (machine.relative && total > 0 && in_range(y)) body(y, total);
}

// Copies dual variables, clipped to the bounds of a problem.
template <class Problem, class T>
void clip_into(const Duals<T>& from, const Problem& problem, Duals<T>& to) {
    std::vector<DualEntry<T>> entries;
    for (std::size_t i = 0; i < from.size(); ++i) {
        entries.clear();
        for_each_feasible(problem.machine, from, i, problem.labels[i], problem.upper[i],
                          [&](std::int32_t c, double beta) { entries.push_back({c, T(beta)}); });
        to.assign(i, entries);
    }
}

}  // namespace polymargin
