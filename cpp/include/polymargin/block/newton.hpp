// The default block solver: safeguarded Newton steps on the scalar root function. Exact, and
// expected O(k): each step is one vector pass, two or three usually do.
//
// Box. With delta = s^T b - B the root of the non-increasing, piecewise linear
//
//     phi(delta) = sum_{c != y} clip(z_c - rho delta) - clip(z_y + rho delta) - B - delta.
//
// rho = -1/k with every variable free makes phi flat: any root is optimal.
//
// Simplex. b_c = max(0, z_c - theta), theta = rho delta + lambda, where lambda >= 0 is the
// multiplier of sum_c b_c <= capacity. Without an own variable (CS, ADM) theta is the root of the
// increasing lambda(theta) = theta - rho (h(theta) - B), h(theta) = sum_c max(0, z_c - theta), if
// h <= capacity there, else that of h(theta) = capacity: Newton steps on a convex function. With
// an own variable (ATM), b_y = max(0, z_y + rho delta - lambda), and lambda > 0 means
//
//     F(theta) = capacity - h(theta) - max(0, z_y + 2 rho (2 h(theta) - capacity - B) - theta) = 0,
//
// which is again non-decreasing in theta.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "polymargin/block/block.hpp"

namespace polymargin::block {

struct ValueSlope {
    double value, slope;
};

// phi of a box.
template <class T>
struct BoxRoot {
    const Block<T>& block;

    ValueSlope operator()(double delta) const {
        const T shift = T(block.rho * delta);
        const ClippedSums sums = clipped_sums(block, shift);
        const T own = block.z_own + shift;
        const bool own_free = own > 0 && own < block.upper_own;
        return {sums.sum - block.clip_own(own) - block.total - delta,
                -(1 + block.rho * (sums.free + own_free))};
    }

    // Where the slope is at least 1 the root lies within |phi(0)|, else in what the box allows.
    double range() const {
        return block.rho > 0 ? 2 * std::abs(double(block.imbalance))
                             : 2 * (double(block.upper) * block.k + block.upper_own +
                                    std::abs(double(block.total)));
    }
};

// phi of a simplex with an own variable, lambda = 0.
template <class T>
struct FreeRoot {
    const Block<T>& block;

    ValueSlope operator()(double delta) const {
        const double shift = block.rho * delta - block.offset;
        const double own = block.z_own + block.rho * delta + block.offset;
        const ClippedSums sums = clipped_sums(block, T(shift));
        return {sums.sum - std::max(0.0, own) - block.total - delta,
                -(1 + block.rho * (sums.free + (own > 0)))};
    }
    double low() const { return -2 * double(block.capacity) - block.total; }
    double high() const { return 2 * double(block.capacity) - block.total; }
    Thresholds<T> thresholds(double delta) const {
        return {T(block.rho * delta - block.offset), T(-block.rho * delta - block.offset)};
    }
    // sum_c b_c there.
    double sum(double delta) const {
        const double shift = block.rho * delta;
        return clipped_sums(block, T(shift - block.offset)).sum +
               std::max(0.0, block.z_own + shift + block.offset);
    }
};

// F of a simplex with an own variable, lambda > 0.
template <class T>
struct FullRoot {
    const Block<T>& block;

    ValueSlope operator()(double theta) const {
        const double C = block.capacity, rho = block.rho;
        const ClippedSums sums = clipped_sums(block, T(theta));
        const double own = block.z_own + 2 * rho * (2 * sums.sum - C - block.total) - theta;
        return {C - sums.sum - std::max(0.0, own),
                own > 0 ? sums.free * (1 + 4 * rho) + 1 : double(sums.free)};
    }
    double low() const { return double(block.largest) - block.capacity; }
    double high() const {
        return std::max(double(block.largest), double(block.z_own) + 4 * double(block.capacity));
    }
    Thresholds<T> thresholds(double theta) const {
        const double h = clipped_sums(block, T(theta)).sum;
        return {T(theta), T(block.z_own - std::max(0.0, block.capacity - h))};
    }
};

// Root of a monotone piecewise linear function in [low, high]. `rising` is +1 for a
// non-decreasing function, -1 for a non-increasing one.
template <class Evaluate>
double monotone_root(double x, ValueSlope at_x, double low, double high, int rising,
                     double tolerance, const Evaluate& evaluate) {
    for (int step = 0; step < 200 && std::abs(at_x.value) > tolerance; ++step) {
        (rising * at_x.value > 0 ? high : low) = x;
        double next = x - at_x.value / at_x.slope;
        // On a flat piece, or where the step leaves the bracket, halve it.
        if (!(next > low && next < high)) next = low + (high - low) / 2;
        if (next == x) break;
        x = next;
        at_x = evaluate(x);
    }
    return x;
}

template <class T>
double rounding(const Block<T>& block) {
    const double scale =
        std::abs(double(block.total)) + std::abs(double(block.b_own)) +
        (block.simplex ? double(block.capacity) : std::abs(double(block.imbalance)));
    return std::numeric_limits<T>::epsilon() * scale;
}

template <class T>
Thresholds<T> newton_box(const Block<T>& block) {
    if (block.rho == 0 || block.imbalance == 0) return {0, 0};
    const BoxRoot<T> phi{block};
    const bool own_free = block.z_own > 0 && block.z_own < block.upper_own;
    const ValueSlope start{block.imbalance, -(1 + block.rho * (block.free + own_free))};
    const double range = phi.range();
    const double shift =
        block.rho * monotone_root(0, start, -range, range, -1, rounding(block), phi);
    return {T(shift), T(-shift)};
}

// Steps below this only move theta among its neighbours.
template <class T>
double smallest_step(T theta) {
    return 2 * double(std::numeric_limits<T>::epsilon()) * std::abs(double(theta));
}

// h(theta) = capacity, by Newton steps from the left.
template <class T>
T project(const Block<T>& block, T theta) {
    const double C = block.capacity;
    theta = std::max({theta, T(block.largest - C), block.lowest});
    for (int step = 0; step < 200; ++step) {
        const ClippedSums sums = clipped_sums(block, theta);
        const double excess = sums.sum - C;
        if (excess <= std::numeric_limits<T>::epsilon() * C || sums.free == 0) break;
        const double move = excess / sums.free;
        theta = T(theta + move);
        if (move <= smallest_step(theta)) break;
    }
    return theta;
}

template <class T>
Thresholds<T> newton_simplex(const Block<T>& block) {
    const double rho = block.rho, B = block.total, C = block.capacity;
    // lambda > 0 exactly where h > C at the theta of s^T b = C.
    T theta = T(rho * (C - B) - block.offset);
    ClippedSums sums = clipped_sums(block, theta);
    if (sums.sum >= C) return {project(block, theta), T(0)};
    if (block.lowest < theta && rho > 0) {
        theta = block.lowest;
        sums = clipped_sums(block, theta);
    }
    const double tolerance = std::numeric_limits<T>::epsilon() * (std::abs(B) + sums.sum);
    for (int step = 0; step < 200; ++step) {
        const double lambda = double(theta) + block.offset - rho * (sums.sum - B);
        if (std::abs(lambda) <= tolerance) break;
        const double move = -lambda / (1 + rho * sums.free);
        theta = T(theta + move);
        if (std::abs(move) <= smallest_step(theta)) break;
        sums = clipped_sums(block, theta);
    }
    return {theta, T(0)};
}

template <class T>
Thresholds<T> newton_simplex_own(const Block<T>& block) {
    const double tolerance = rounding(block);
    const FreeRoot<T> free{block};
    const double delta = monotone_root(0, free(0), free.low(), free.high(), -1, tolerance, free);
    if (free.sum(delta) <= block.capacity + tolerance &&
        std::abs(free(delta).value) <= 8 * tolerance) {
        return free.thresholds(delta);
    }
    const FullRoot<T> full{block};
    const double low = full.low();
    return full.thresholds(monotone_root(low, full(low), low, full.high(), +1, tolerance, full));
}

template <class T>
Thresholds<T> newton(const Block<T>& block) {
    if (!block.simplex) return newton_box(block);
    return block.upper_own > 0 ? newton_simplex_own(block) : newton_simplex(block);
}

}  // namespace polymargin::block
