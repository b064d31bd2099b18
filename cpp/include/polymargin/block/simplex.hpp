// The block of a machine joined by the maximum, beta >= 0, sum_c beta_c <= C. A few classes enter
// the block problem as they are. Of many, those above a lower bound of the threshold, those near it
// and those with b > 0 do, as a list.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "polymargin/block/prepared.hpp"

namespace polymargin {

template <class T>
class Simplex {
public:
    // A stable example has one class at C, or none in use, all others beyond `threshold`.
    State prepare(Prepared<T>& x, T threshold) {
        const T base = x.base, q = x.q, capacity = q * x.C;
        simd::Largest<T> top(x.never), steep(x.never);
        simd::Sum<T> sum, positive_sum;
        int positive = 0;
        simd::for_each_pack<T>(x.size, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(x.beta.data() + at);
            const P g = simd::load<P>(x.f.data() + at) + base;
            const P z = g + q * beta;
            top.add(z);
            steep.add(g);
            sum.add(beta);
            positive_sum.add(beta > 0 ? z : P{});
            positive += std::popcount(simd::bits_above(beta, T(0)));
        });
        Seen seen{.largest = top.value(),
                  .steepest = steep.value(),
                  .sum = sum.value(),
                  .positive_sum = positive_sum.value(),
                  .positive = positive};
        if (x.group.count) seen.add(x.group, x.group_gradient(), q);
        const T largest = seen.largest, total = q * seen.sum, b_own = q * x.beta_own;
        const T steepest = std::max({T(0), x.own_gradient, seen.steepest});
        const T slack = x.C - seen.sum - x.beta_own;
        steepest_ = steepest;
        lowest_ = slack > (1 - x.rounded) * x.C ? T(0) : steepest;
        if (x.beta_own > 0) lowest_ = std::min(lowest_, x.own_gradient);
        if (seen.positive == 0 && b_own == 0 && steepest == 0) {
            return {0, false, std::max(largest, x.own_gradient) < -threshold};
        }
        const T floor = lowest_threshold(x, seen, total, b_own);
        const T margin = threshold < capacity ? threshold : T(0);
        const T offset = std::max(largest, x.own_gradient + b_own);
        constexpr T infinity = std::numeric_limits<T>::infinity();
        x.set_block((x.own_gradient - offset) + b_own, b_own, infinity,
                    x.machine.has_own ? infinity : T(0), capacity, total - b_own);
        x.block.lowest = floor - offset;
        x.block.offset = offset;
        T gap = slack * steepest;
        if (x.machine.has_own) gap += x.beta_own * (steepest - x.own_gradient);
        int candidates = 0;
        if (x.may_list()) {
            gap += list_candidates(x, floor - margin);
            candidates = x.list.size();
        } else {
            gap += shift_all(x, floor - margin, candidates);
        }
        if (x.group.count) gap += see_group(x, floor - margin, candidates);
        const bool corner = candidates == 1 && seen.positive == 1 && seen.sum == x.C &&
                            x.beta_own == 0 && largest - capacity > threshold &&
                            x.own_gradient < largest - capacity - threshold;
        return {gap, gap > 0, corner && margin == threshold};
    }

    void move(Prepared<T>& x, const Thresholds<T>& thresholds) const {
        if (x.listed) {
            move_listed(x, thresholds);
        } else {
            const T full = x.block.capacity * x.nearly;
            const bool own = x.machine.has_own;
            x.move_all(thresholds, full, x.C, own ? full : T(0), own ? x.C : T(0));
        }
    }

    // The largest gradient less the smallest of a positive variable, the slack of
    // sum_c beta_c <= C counting as a variable of gradient 0: Crammer & Singer's psi.
    Report report(const Prepared<T>& x) const {
        return {double(x.C) * steepest_, std::max(0.0, double(steepest_) - lowest_)};
    }

    // Where the block is linear: the largest gradient of all.
    void see_linear(T steepest) {
        steepest_ = steepest;
        lowest_ = 0;
    }

private:
    // What a first pass over the other classes finds.
    struct Seen {
        T largest, steepest;  // z, g
        T sum;                // of beta
        T positive_sum;       // of z where beta > 0
        int positive;

        void add(const Group<T>& group, T g, T q) {
            const T z = g + q * group.beta, count = T(group.count);
            largest = std::max(largest, z);
            steepest = std::max(steepest, g);
            sum += count * group.beta;
            if (group.beta > 0) positive_sum += count * z, positive += group.count;
        }
    };

    // z of all classes less the offset; returns sum_c beta_c (steepest - g_c).
    T shift_all(Prepared<T>& x, T floor, int& candidates) {
        const T base = x.base, q = x.q, offset = x.block.offset, steepest = steepest_;
        simd::Sum<T> gap;
        simd::Largest<T> lowest(-lowest_), largest(x.never);
        simd::for_each_pack<T>(x.size, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(x.beta.data() + at);
            const P g = simd::load<P>(x.f.data() + at) + base;
            const P z = (g - offset) + q * beta;
            simd::store(x.z.data() + at, z);
            largest.add(z);
            gap.add(beta * (steepest - g));
            lowest.add(beta > 0 ? -g : simd::splat<P>(x.never));
            candidates +=
                std::popcount(simd::bits_above(g + q * beta, floor) | simd::bits_above(beta, T(0)));
        });
        lowest_ = -lowest.value();
        x.block.largest = largest.value();
        return gap.value();
    }

    // The same for the listed classes.
    T list_candidates(Prepared<T>& x, T floor) {
        const T base = x.base, q = x.q, offset = x.block.offset, steepest = steepest_;
        T gap = 0, lowest = lowest_, largest = x.never;
        x.list.clear();
        simd::for_each_pack<T>(x.size, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(x.beta.data() + at);
            const P z = simd::load<P>(x.f.data() + at) + base + q * beta;
            std::uint32_t bits = simd::bits_above(z, floor) | simd::bits_above(beta, T(0));
            for (; bits; bits &= bits - 1) {
                const int c = static_cast<int>(at) + std::countr_zero(bits);
                const T g = x.f[c] + base;
                gap += x.beta[c] * (steepest - g);
                if (x.beta[c] > 0) lowest = std::min(lowest, g);
                const T z_less = (g - offset) + q * x.beta[c];
                x.list.add(c, z_less, x.beta[c]);
                largest = std::max(largest, z_less);
            }
        });
        lowest_ = lowest;
        x.listed = true;
        x.list.enter(x.block);
        x.block.largest = largest;
        return gap;
    }

    // The same for the group.
    T see_group(Prepared<T>& x, T floor, int& candidates) {
        const T g = x.group_gradient(), beta = x.group.beta;
        x.block.group.z = (g - x.block.offset) + x.block.group.b;
        x.block.largest = std::max(x.block.largest, x.block.group.z);
        if (beta > 0) lowest_ = std::min(lowest_, g);
        if (beta > 0 || g + x.block.group.b > floor) candidates += x.group.count;
        return T(x.group.count) * beta * (steepest_ - g);
    }

    // A bound of the threshold theta from below. With h(theta) = sum_c (z_c - theta)_+, which no
    // subset of the classes exceeds, theta >= rho (h(theta) - B), and h(theta) = capacity where
    // the simplex is full; here the subset is that of the positive variables.
    static T lowest_threshold(const Prepared<T>& x, const Seen& seen, T total, T b_own) {
        const T capacity = x.q * x.C, positive = T(seen.positive);
        T floor = seen.largest - capacity;
        if (x.rho > 0) {
            floor = std::max(floor, (seen.positive_sum - total) / (1 + positive));
            const T full = capacity - total;  // theta where s^T b = capacity
            if (seen.positive_sum - positive * full >= capacity) {
                floor = std::max({floor, full, (seen.positive_sum - capacity) / positive});
            }
        } else {
            floor = std::max(floor, -(capacity + std::abs(total - b_own)) * T(0.5));
        }
        return floor - 16 * std::numeric_limits<T>::epsilon() *
                           (std::abs(seen.largest) + std::abs(seen.positive_sum) + capacity);
    }

    // Where C is met up to rounding.
    static T beta_of(const Prepared<T>& x, T b) {
        return b <= 0 ? T(0) : b >= x.block.capacity * x.nearly ? x.C : b / x.q;
    }

    void move_listed(Prepared<T>& x, const Thresholds<T>& thresholds) const {
        const T sum = x.list.move(thresholds.other, [&](T b) { return beta_of(x, b); }, x.changes);
        const bool own = x.machine.has_own;
        const T beta_own = own ? beta_of(x, x.block.z_own - thresholds.own) : T(0);
        x.move = {.dense = false,
                  .own_change = x.machine.relative ? sum : beta_own - x.beta_own,
                  .beta_own = beta_own,
                  .beta_group = x.group.beta};
        if (x.group.count) x.move_group(beta_of(x, x.block.group.z - thresholds.other));
    }

    T steepest_ = 0, lowest_ = 0;  // gradients: the largest, the smallest in use
};

}  // namespace polymargin
