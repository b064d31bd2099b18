// The block of a machine joined by a sum, 0 <= beta_c <= C weight_c: one vector pass finds the gap,
// whether anything moves, and where the root finder starts. Of many classes, those that can be
// positive then enter the block problem as a list, where they are few.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "polymargin/block/prepared.hpp"

namespace polymargin::box {

// A stable example has all variables at a bound, their gradients beyond `threshold`.
template <class T>
State prepare(Prepared<T>& x, T threshold) {
    const T base = x.base, q = x.q, upper = x.upper, bound = q * upper;
    const T reach = bound + threshold;
    simd::Sum<T> imbalance, gap, total;
    int free = 0;
    std::uint32_t moves = 0, near = 0;
    simd::for_each_pack<T>(x.size, [&]<class P>(std::size_t at, P) {
        const P beta = simd::load<P>(x.beta.data() + at);
        const P g = simd::load<P>(x.f.data() + at) + base;
        const P b = q * beta;
        const P z = g + b;
        simd::store(x.z.data() + at, z);
        const P moved = simd::clip(z, simd::splat<P>(bound)) - b;
        imbalance.add(moved);
        total.add(b);
        gap.add(upper * simd::max(g, P{}) - beta * g);
        free += std::popcount(simd::bits_above(simd::min(z, bound - z), T(0)));
        moves |= simd::bits_above(simd::max(moved, -moved), T(0));
        near |= simd::bits_above(simd::min(z + threshold, reach - z), T(0));
    });
    const T b_own = q * x.beta_own;
    x.set_block(x.own_gradient + b_own, b_own, bound, q * x.upper_own,
                std::numeric_limits<T>::infinity(), total.value() - b_own);
    Block<T>& block = x.block;
    block.imbalance = imbalance.value();
    block.free = free;
    State state{double(gap.value()), moves != 0, near == 0};
    // One more variable of this gradient, at b, so many times; returns by how much it would move.
    const auto see = [&](T g, T beta, T z, T most, T most_b, double times) {
        const T moved = std::clamp(z, T(0), most_b) - q * beta;
        state.gap += times * (double(most) * std::max(T(0), g) - double(beta) * g);
        state.moves |= moved != 0;
        state.stable &= std::max(-z, z - most_b) > threshold;
        return moved;
    };
    if (x.group.count) [[unlikely]] {
        const T count = T(x.group.count), g = x.group_gradient();
        block.group.z = g + block.group.b;
        block.total += count * block.group.b;
        block.imbalance += count * see(g, x.group.beta, block.group.z, upper, bound, count);
        if (block.group.z > 0 && block.group.z < bound) block.free += x.group.count;
    }
    if (x.machine.has_own) {
        block.imbalance -=
            see(x.own_gradient, x.beta_own, block.z_own, x.upper_own, block.upper_own, 1);
    }
    state.stable &= !state.moves;
    return state;
}

// Lists the classes that can be positive in the solution or less than `near` of a gradient away
// from it, where these are few. The root s^T b - B of a block with rho >= 0 lies between 0 and the
// imbalance, and the threshold is rho times as much.
template <class T>
void list(Prepared<T>& x, T near) {
    if (!x.may_list() || x.rho < 0 || x.group.count) return;
    const T lowest = x.rho * std::min(T(0), x.block.imbalance);
    const T floor = lowest * (1 + 64 * std::numeric_limits<T>::epsilon()) - near;
    const auto for_each = [&](auto&& body) __attribute__((always_inline)) {
        simd::for_each_pack<T>(x.size, [&]<class P>(std::size_t at, P) {
            body(at, simd::bits_above(simd::load<P>(x.z.data() + at), floor) |
                         simd::bits_above(simd::load<P>(x.beta.data() + at), T(0)));
        });
    };
    std::size_t count = 0;
    for_each([&](std::size_t, std::uint32_t bits) {
        count += static_cast<std::size_t>(std::popcount(bits));
    });
    if (8 * count > x.size) return;
    x.list.clear();
    for_each([&](std::size_t at, std::uint32_t bits) {
        for (; bits; bits &= bits - 1) {
            const int c = static_cast<int>(at) + std::countr_zero(bits);
            x.list.add(c, x.z[c], x.beta[c]);
        }
    });
    x.listed = true;
    x.list.enter(x.block);
}

template <class T>
void move(Prepared<T>& x, const Thresholds<T>& thresholds) {
    if (x.listed) {
        x.move_listed(thresholds, x.block.upper, x.upper, x.block.upper_own, x.upper_own);
    } else {
        x.move_all(thresholds, x.block.upper, x.upper, x.block.upper_own, x.upper_own);
    }
}

template <class T>
Report report(const Prepared<T>& x) {
    const T base = x.base, upper = x.upper, nearly_upper = x.upper * x.rounded;
    simd::Sum<T> loss;
    simd::Largest<T> violation(T(0));
    const auto see = [&]<class P>(P g, P beta, T times, T bound, T nearly_bound) {
        loss.add(times * bound * simd::max(g, P{}));
        violation.add(beta < nearly_bound ? g : P{});
        violation.add(beta > 0 ? -g : P{});
    };
    const auto see_one = [&](T gradient, T value, T times, T bound) {
        simd::HalfPack<T> g{}, beta{};
        g[0] = gradient;
        beta[0] = value;
        see(g, beta, times, bound, bound * x.rounded);
    };
    if (x.machine.has_others) {
        simd::for_each_pack<T>(x.size, [&]<class P>(std::size_t at, P) {
            see(simd::load<P>(x.f.data() + at) + base, simd::load<P>(x.beta.data() + at), T(1),
                upper, nearly_upper);
        });
        if (x.group.count) {
            see_one(x.group_gradient(), x.group.beta, T(x.group.count), upper);
        }
    }
    if (x.machine.has_own) see_one(x.own_gradient, x.beta_own, T(1), x.upper_own);
    return {double(loss.value()), double(violation.value())};
}

}  // namespace polymargin::box
