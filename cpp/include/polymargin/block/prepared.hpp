// One example on its way through its block: scores, dual variables, gradients, the block problem
// and how its solution differs from the present beta. Filled by box.hpp and simplex.hpp, read by
// ExampleBlock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "polymargin/block/block.hpp"
#include "polymargin/block/candidates.hpp"
#include "polymargin/block/change.hpp"
#include "polymargin/machine.hpp"

namespace polymargin {

// What the scores of an example say before its block is solved.
struct State {
    double gap;   // C_i L_i(f) - sum_c beta_c g_c >= 0: the example's part of P - D
    bool moves;   // the block is not solved by the present beta
    bool stable;  // all variables sit at a bound, their gradients beyond the threshold
};

struct Report {
    double loss;       // C_i L_i(f)
    double violation;  // of the optimality conditions, in units of the gradient
};

// Classes of an example without lanes of their own, all with this score and this dual variable: as
// many as they are, they cost as much as one.
template <class T>
struct Group {
    int count = 0;
    T score = 0, beta = 0;
};

// How the solution differs from the present beta.
template <class T>
struct Move {
    bool dense;    // delta holds the change of a_c, z the new beta_c; else see changes
    T own_change;  // of a_y
    T beta_own;    // new beta_y
    T beta_group;  // new beta_c of each class of the group; its a_c changes by as much, negated
};

template <class T>
struct Prepared {
    // Far below every score, yet finite: it can be multiplied by 0.
    static constexpr T never = std::numeric_limits<T>::lowest() / T(1e8);
    // A bound that is missed by rounding counts as reached.
    static constexpr T nearly = 1 - 4 * std::numeric_limits<T>::epsilon();
    static constexpr T rounded = 1 - 64 * std::numeric_limits<T>::epsilon();

    // k classes, of which `most` can have lanes of their own.
    Prepared(const Machine& machine, int k, int most)
        : machine(machine),
          k(k),
          lanes(most),
          size(simd::padded<T>(most)),
          rho(T(machine.rho(k))),
          f(size),
          beta(size),
          z(size),
          delta(size),
          list(most) {
        changes.reserve(most);
    }

    void start(std::int32_t own, T norm, T bound) {
        y = own;
        q = norm;
        C = bound;
        upper = T(machine.upper(false, C));
        upper_own = machine.has_own ? T(machine.upper(true, C)) : T(0);
        beta_own = beta[y];
        beta[y] = 0;
    }

    // f becomes the gradients less `base`: g_c = f_c + base of the other classes.
    void find_gradients() {
        const auto gradients = machine.gradients(f[y], machine.zero_sum ? mean_score() : T(0), k);
        base = gradients.other;
        own_gradient = machine.has_own ? gradients.own : never;
        mask();
    }

    // Lanes without a variable of their own never reach the block problem.
    void mask() {
        if (!machine.has_others) std::fill(f.begin(), f.end(), never);
        f[y] = never;
        for (std::size_t c = lanes; c < size; ++c) f[c] = never;
    }

    // Of one class of the group.
    T group_gradient() const { return machine.has_others ? group.score + base : never; }

    // A short block is looked at in full.
    bool may_list() const { return size > 64; }

    void set_block(T z_own, T b_own, T bound, T bound_own, T capacity, T total) {
        listed = false;
        block = {.z = z.data(),
                 .beta = beta.data(),
                 .q = q,
                 .size = size,
                 .count = lanes,
                 .k = k,
                 .z_own = z_own,
                 .b_own = b_own,
                 .upper = bound,
                 .upper_own = bound_own,
                 .capacity = capacity,
                 .rho = rho,
                 .total = total,
                 .simplex = machine.simplex(),
                 .imbalance = 0,
                 .free = 0,
                 .largest = 0,
                 .lowest = 0,
                 .offset = 0,
                 .group = {group.count, T(0), q * group.beta}};
    }

    // beta <- clip(z - thresholds)/q; `top` where q beta reaches `bound`.
    void move_all(const Thresholds<T>& thresholds, T bound, T top, T bound_own, T top_own) {
        const T inverse = 1 / q, shift = thresholds.other;
        const bool relative = machine.relative;
        simd::Sum<T> sum;
        simd::for_each_pack<T>(size, [&]<class P>(std::size_t at, P) {
            const P b = simd::max(simd::load<P>(z.data() + at) - shift, P{});
            const P next = b < bound ? b * inverse : simd::splat<P>(top);
            const P moved = simd::load<P>(beta.data() + at) - next;
            simd::store(delta.data() + at, moved);
            simd::store(z.data() + at, next);
            if (relative) sum.add(moved);
        });
        const T next_own = beta_of(block.z_own - thresholds.own, bound_own, top_own);
        move = {.dense = true,
                .own_change = relative ? -sum.value() : next_own - beta_own,
                .beta_own = next_own,
                .beta_group = group.beta};
        if (group.count) [[unlikely]]
            move_group(beta_of(block.group.z - shift, bound, top));
    }

    // The same for the classes of the list, without a group.
    void move_listed(const Thresholds<T>& thresholds, T bound, T top, T bound_own, T top_own) {
        const T rise =
            list.move(thresholds.other, [&](T b) { return beta_of(b, bound, top); }, changes);
        const T next_own = beta_of(block.z_own - thresholds.own, bound_own, top_own);
        move = {.dense = false,
                .own_change = machine.relative ? rise : next_own - beta_own,
                .beta_own = next_own,
                .beta_group = group.beta};
    }

    void move_group(T next) {
        move.beta_group = next;
        if (machine.relative) move.own_change += T(group.count) * (next - group.beta);
    }

    const Machine& machine;
    int k;             // classes of the problem
    int lanes;         // those in the arrays
    std::size_t size;  // lanes, padded
    T rho;
    std::vector<T> f, beta, z, delta;  // by lane
    std::vector<Change<T>> changes;
    Candidates<T> list;
    bool listed = false;  // the block is that of the list
    Group<T> group;

    std::int32_t y = 0;
    T q = 0, C = 0, upper = 0, upper_own = 0, base = 0, own_gradient = 0, beta_own = 0;
    T shift = 0;  // threshold of the other classes in the solution
    Block<T> block{};
    Move<T> move{};

private:
    T beta_of(T b, T bound, T top) const { return b <= 0 ? T(0) : b < bound ? b / q : top; }

    T mean_score() const {
        simd::Sum<T> sum;
        simd::for_each_pack<T>(size, [&]<class P>(std::size_t at, P) {
            sum.add(simd::load<P>(f.data() + at));
        });
        return (sum.value() + T(group.count) * group.score) / T(k);
    }
};

}  // namespace polymargin
