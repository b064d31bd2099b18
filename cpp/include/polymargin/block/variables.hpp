// The block problem as plain arrays of double, the own class appended: for solvers that move
// variables rather than thresholds. The classes of a group become variables like all others; equal
// as they are, their mean serves as well as what each of them reached. The gradient of the
// (negated) objective is
//
//     G_c = z_c - b_c - rho s_c (s^T b - B),     s_c = 1, s_y = -1.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "polymargin/block/block.hpp"

namespace polymargin::block {

struct Variables {
    std::vector<double> b, z, upper, sign;
    double rho = 0, total = 0, start = 0, capacity = 0;
    bool simplex = false;

    template <class T>
    void read(const Block<T>& block) {
        const bool own = block.upper_own > 0;
        const std::size_t m = block.count + block.group.count + own;
        b.resize(m);
        z.resize(m);
        upper.assign(m, block.upper);
        sign.assign(m, 1);
        for (int at = 0; at < block.count; ++at) {
            b[at] = double(block.q) * block.beta[at];
            z[at] = double(block.z[at]) + block.offset;
        }
        for (int at = block.count; at < block.count + block.group.count; ++at) {
            b[at] = block.group.b;
            z[at] = double(block.group.z) + block.offset;
        }
        if (own) {
            b.back() = block.b_own;
            z.back() = double(block.z_own) + block.offset;
            upper.back() = block.upper_own;
            sign.back() = -1;
        }
        rho = block.rho;
        simplex = block.simplex;
        capacity = block.capacity;
        total = start = 0;
        for (std::size_t p = 0; p < m; ++p) start += sign[p] * b[p];
        total = start;
    }

    // Leaves the solution in place of z.
    template <class T>
    Thresholds<T> write(Block<T>& block) const {
        for (int at = 0; at < block.count; ++at) block.z[at] = T(b[at]);
        if (block.group.count) {
            const auto first = b.begin() + block.count;
            block.group.z =
                T(std::accumulate(first, first + block.group.count, 0.0) / block.group.count);
        }
        if (block.upper_own > 0) block.z_own = T(b.back());
        return {0, 0};
    }

    std::size_t size() const { return b.size(); }
    double gradient(std::size_t p) const { return z[p] - b[p] - rho * sign[p] * (total - start); }
    void move(std::size_t p, double step) {
        b[p] += step;
        total += sign[p] * step;
    }
    // The variable that violates optimality in its box most, and by how much.
    struct Worst {
        std::size_t p = 0;
        double violation = 0;
    };
    Worst worst() const {
        Worst worst;
        for (std::size_t p = 0; p < size(); ++p) {
            const double g = gradient(p);
            const bool can_move = g > 0 ? b[p] < upper[p] : b[p] > 0;
            if (can_move && std::abs(g) > worst.violation) worst = {p, std::abs(g)};
        }
        return worst;
    }
    double sum() const {
        double sum = 0;
        for (const double value : b) sum += value;
        return sum;
    }

    // Moves from `old` towards b as far as the objective falls: a step of 1 if b is the better
    // point, none if it is not a direction of descent.
    void search_from(const std::vector<double>& old) {
        double slope = 0, square = 0, along = 0;
        for (std::size_t p = 0; p < size(); ++p) {
            const double d = b[p] - old[p];
            slope += d * (z[p] - old[p]);
            square += d * d;
            along += sign[p] * d;
        }
        const double curvature = square + rho * along * along;
        double step = slope <= 0 ? 0 : curvature > 0 ? std::min(1.0, slope / curvature) : 1;
        total = start;
        for (std::size_t p = 0; p < size(); ++p) {
            b[p] = old[p] + step * (b[p] - old[p]);
            total += sign[p] * (b[p] - old[p]);
        }
    }
};

}  // namespace polymargin::block
