// Box blocks by greedy ascent over pairs: inexact. The first variable violates optimality most; the
// second promises the largest gain together with it; the two-variable box problem is solved
// exactly. It stops when the violation has fallen to a fraction `threshold` of what it was at the
// start.
#pragma once

#include <algorithm>

#include "polymargin/block/variables.hpp"

namespace polymargin::block {

namespace pairs {

struct Step {
    double a = 0, b = 0, gain = 0;
};

// max g_a x + g_b y - 1/2 (q x^2 + q y^2) - r x y over the box, q = 1 + rho, r = rho s_a s_b.
inline Step best_step(double ga, double gb, double q, double r, double low_a, double high_a,
                      double low_b, double high_b) {
    const auto gain = [&](double x, double y) {
        return ga * x + gb * y - 0.5 * q * (x * x + y * y) - r * x * y;
    };
    const auto line = [&](double drive, double low, double high) {
        if (q > 0) return std::clamp(drive / q, low, high);
        return drive > 0 ? high : drive < 0 ? low : 0.0;
    };
    Step best;
    const auto offer = [&](double x, double y) {
        const double value = gain(x, y);
        if (value > best.gain) best = {x, y, value};
    };
    const double det = q * q - r * r;
    if (det > 1e-12 * q * q) {
        const double x = (q * ga - r * gb) / det, y = (q * gb - r * ga) / det;
        if (x >= low_a && x <= high_a && y >= low_b && y <= high_b) {
            offer(x, y);
            return best;
        }
    }
    for (const double x : {low_a, high_a}) offer(x, line(gb - r * x, low_b, high_b));
    for (const double y : {low_b, high_b}) offer(line(ga - r * y, low_a, high_a), y);
    return best;
}

}  // namespace pairs

template <class T>
Thresholds<T> greedy_pairs(Block<T>& block, Variables& variables, double threshold, int max_iter) {
    variables.read(block);
    const std::size_t m = variables.size();
    const double q = 1 + variables.rho;
    const std::size_t steps = max_iter > 0 ? max_iter : 10 * m + 10;
    double stop = -1;
    for (std::size_t step = 0; step < steps; ++step) {
        const auto [first, worst] = variables.worst();
        if (stop < 0) stop = threshold * worst;
        if (worst <= stop) break;
        const auto step_with = [&](std::size_t p) {
            const double r = variables.rho * variables.sign[first] * variables.sign[p];
            return pairs::best_step(variables.gradient(first), variables.gradient(p), q, r,
                                    -variables.b[first],
                                    variables.upper[first] - variables.b[first], -variables.b[p],
                                    variables.upper[p] - variables.b[p]);
        };
        std::size_t second = first;
        pairs::Step best;
        for (std::size_t p = 0; p < m; ++p) {
            if (p == first) continue;
            const pairs::Step candidate = step_with(p);
            if (candidate.gain > best.gain) best = candidate, second = p;
        }
        if (second == first) {  // no partner (MMR): a step of one variable
            const double g = variables.gradient(first);
            best.a =
                std::clamp(g / q, -variables.b[first], variables.upper[first] - variables.b[first]);
        }
        variables.move(first, best.a);
        if (second != first) variables.move(second, best.b);
        for (const std::size_t p : {first, second}) {
            variables.b[p] = std::clamp(variables.b[p], 0.0, variables.upper[p]);
        }
    }
    return variables.write(block);
}

}  // namespace polymargin::block
