// The dual variables of one example: from its scores to the block problem, and from the solution
// of that to the change of beta. Knows nothing of rows, weights or kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "polymargin/block/box.hpp"
#include "polymargin/block/prepared.hpp"
#include "polymargin/block/simplex.hpp"

namespace polymargin {

template <class T>
class ExampleBlock {
public:
    using Move = polymargin::Move<T>;

    // k classes, of which at most `lanes` have lanes of their own.
    ExampleBlock(const Machine& machine, int k, int lanes) : x_(machine, k, lanes) {}
    ExampleBlock(const Machine& machine, int k) : ExampleBlock(machine, k, k) {}

    // Takes the block for some of the classes, at most as many as at construction; y is then a
    // place among them.
    void restrict_to(int lanes) {
        x_.lanes = lanes;
        x_.size = simd::padded<T>(lanes);
        for (std::size_t c = lanes; c < x_.size; ++c) x_.beta[c] = 0;
    }

    // The other classes that have no lanes.
    void set_group(const Group<T>& group) { x_.group = group; }

    // Buffers of padded length to be filled before prepare(); the padding of beta is 0.
    T* scores() { return x_.f.data(); }
    T* beta() { return x_.beta.data(); }
    std::size_t size() const { return x_.size; }

    // The block problem of an example of class y with q = |x|^2 and bound C. A stable example has
    // all gradients beyond `threshold`.
    State prepare(std::int32_t y, T q, T C, T threshold) {
        x_.start(y, q, C);
        x_.find_gradients();
        return prepare(threshold);
    }

    // The same from gradients g_c = t_c - nu_c^T f in place of the scores.
    State prepare_gradients(std::int32_t y, T q, T C, T threshold) {
        x_.start(y, q, C);
        x_.base = 0;
        x_.own_gradient = x_.machine.has_own ? x_.f[y] : x_.never;
        x_.mask();
        return prepare(threshold);
    }

    // Solves the prepared block problem. Classes less than `near` of a gradient away from being
    // positive can be asked for then.
    template <class Solve>
    const Move& solve(Solve&& solver, T near = 0) {
        if (x_.q == 0) {
            move_linear();
            return x_.move;
        }
        if (!x_.machine.simplex()) box::list(x_, near);
        const Thresholds<T> thresholds = solver(x_.block);
        x_.shift = thresholds.other;
        if (x_.machine.simplex()) {
            simplex_.move(x_, thresholds);
        } else {
            box::move(x_, thresholds);
        }
        return x_.move;
    }

    // One call for tests: the new beta from gradients and the present beta, an entry for each lane;
    // returns that of the group.
    template <class Solve>
    T solve(const T* gradient, const T* beta, T q, T C, std::int32_t y, Solve& solver, T* out) {
        const int lanes = x_.lanes;
        std::copy_n(gradient, lanes, x_.f.data());
        std::fill(x_.beta.begin(), x_.beta.end(), T(0));
        std::copy_n(beta, lanes, x_.beta.data());
        std::copy_n(beta, lanes, out);
        if (!prepare_gradients(y, q, C, T(0)).moves) return x_.group.beta;
        const Move& move = solve(solver);
        if (move.dense) {
            std::copy_n(x_.z.data(), lanes, out);
        } else {
            for (const auto& change : x_.changes) out[change.c] = change.beta;
        }
        out[y] = move.beta_own;
        return move.beta_group;
    }

    // Calls body(c, beta, gradient) for the variables strictly between their bounds, the group left
    // out; true if the simplex is full, so that their sum is fixed.
    template <class Body>
    bool for_each_free(Body&& body) const {
        const bool simplex = x_.machine.simplex();
        T sum = x_.beta_own;
        for (int c = 0; c < x_.lanes; ++c) {
            const T beta = x_.beta[c];
            sum += beta;
            if (beta > 0 && (simplex || beta < x_.upper)) body(c, beta, x_.f[c] + x_.base);
        }
        if (x_.beta_own > 0 && (simplex || x_.beta_own < x_.upper_own)) {
            body(x_.y, x_.beta_own, x_.own_gradient);
        }
        return simplex && sum >= x_.C * (1 - 16 * std::numeric_limits<T>::epsilon());
    }

    // Calls body(c, beta, lack) for these and for those at a bound less than `near` of a gradient
    // away from moving inside. The lack is what the gradient of a free variable has to lose, and
    // that of another one for having to stay where it is; in a full simplex it has to lose what is
    // beyond the mean of the free ones. True if the simplex is full.
    template <class Body>
    bool for_each_lack(T near, Body&& body) const {
        T mean = 0, count = 0;
        const bool full = for_each_free([&](std::int32_t, T, T gradient) {
            mean += gradient;
            ++count;
        });
        const T level = full ? std::max(T(0), mean / count) : T(0);
        const auto see = [&](std::int32_t c, T beta, T gradient, T upper) {
            const T g = gradient - level;
            const bool at_top = !x_.machine.simplex() && beta >= upper;
            if (beta > 0 && !at_top) {
                body(c, beta, g);
            } else if (at_top ? g < near : g > -near) {
                body(c, beta, at_top ? std::min(T(0), g) : std::max(T(0), g));
            }
        };
        for (int c = 0; c < x_.lanes; ++c) {
            if (c != x_.y) see(c, x_.beta[c], x_.f[c] + x_.base, x_.upper);
        }
        if (x_.machine.has_own) see(x_.y, x_.beta_own, x_.own_gradient, x_.upper_own);
        return full && level > 0;
    }

    // After solve(): calls body(c, new beta_c), by ascending class, for the other classes that are
    // positive or less than `near` of a gradient away from it, no further than solve() was told;
    // once there were more than `most`, it may be that positive ones alone follow.
    template <class Body>
    void for_each_near(T near, std::size_t most, Body&& body) const {
        if (x_.q == 0) {
            for (int c = 0; c < x_.lanes; ++c) {
                if (x_.z[c] > 0) body(c, x_.z[c]);
            }
        } else if (x_.listed) {
            x_.list.for_each_near(x_.shift, near, body);
        } else {
            const T base = x_.base, q = x_.q;
            T floor = x_.shift + x_.block.offset - near;
            std::size_t count = 0;
            simd::for_each_pack<T>(x_.size, [&]<class P>(std::size_t at, P) {
                const P b = q * simd::load<P>(x_.beta.data() + at);
                const P z = simd::load<P>(x_.f.data() + at) + base + b;
                std::uint32_t bits = simd::bits_above(z, floor) |
                                     simd::bits_above(simd::load<P>(x_.z.data() + at), T(0));
                count += static_cast<std::size_t>(std::popcount(bits));
                if (count > most) floor = std::numeric_limits<T>::infinity();
                for (; bits; bits &= bits - 1) {
                    const int c = static_cast<int>(at) + std::countr_zero(bits);
                    body(c, x_.z[c]);
                }
            });
        }
    }

    // After solve(), where all classes were moved: how many of the others are positive.
    std::size_t positives() const {
        std::size_t count = 0;
        simd::for_each_pack<T>(x_.size, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(x_.z.data() + at);
            count += static_cast<std::size_t>(std::popcount(simd::bits_above(beta, T(0))));
        });
        return count;
    }

    // After solve(): whether few classes change; changes() has them then.
    bool changes_few() {
        if (x_.move.dense) {
            std::size_t count = 0;
            const auto see = [&](auto&& body) __attribute__((always_inline)) {
                simd::for_each_pack<T>(x_.size, [&]<class P>(std::size_t at, P) {
                    const P delta = simd::load<P>(x_.delta.data() + at);
                    body(at, simd::bits_above(simd::max(delta, -delta), T(0)));
                });
            };
            see([&](std::size_t, std::uint32_t bits) {
                count += static_cast<std::size_t>(std::popcount(bits));
            });
            if (8 * count >= x_.size) return false;
            x_.changes.clear();
            see([&](std::size_t at, std::uint32_t bits) {
                for (; bits; bits &= bits - 1) {
                    const int c = static_cast<int>(at) + std::countr_zero(bits);
                    x_.changes.push_back({c, x_.delta[c], x_.z[c]});
                }
            });
        }
        return 8 * x_.changes.size() < x_.size;
    }

    std::vector<T>& delta() { return x_.delta; }
    const T* new_beta() const { return x_.z.data(); }
    std::vector<Change<T>>& changes() { return x_.changes; }

    // Of the prepared block.
    Report report() const { return x_.machine.simplex() ? simplex_.report(x_) : box::report(x_); }

private:
    State prepare(T threshold) {
        if (x_.q == 0) return prepare_linear();
        return x_.machine.simplex() ? simplex_.prepare(x_, threshold) : box::prepare(x_, threshold);
    }

    // --- q = 0: the block is linear; beta goes to its bound where the gradient is positive

    State prepare_linear() {
        double product = double(x_.beta_own) * x_.own_gradient;
        T steepest = std::max(T(0), x_.own_gradient);
        for (int c = 0; c < x_.lanes; ++c) {
            const T g = x_.f[c] + x_.base;
            product += double(x_.beta[c]) * g;
            steepest = std::max(steepest, g);
        }
        if (x_.group.count) {
            product += double(x_.group.count) * x_.group.beta * x_.group_gradient();
            steepest = std::max(steepest, x_.group_gradient());
        }
        simplex_.see_linear(steepest);
        const double gap = report().loss - product;
        return {gap, gap > 0, gap <= 0};
    }

    // In a simplex all of C goes to the largest gradient; in equal parts where that is the group's.
    void move_linear() {
        const bool simplex = x_.machine.simplex();
        const auto gradient = [&](int c) {
            return c == x_.y ? x_.own_gradient : x_.f[c] + x_.base;
        };
        int best = x_.y;
        for (int c = 0; c < x_.lanes; ++c) {
            if (gradient(c) > gradient(best)) best = c;
        }
        const bool has_group = x_.group.count > 0;
        const bool to_group = has_group && x_.group_gradient() > gradient(best);
        x_.changes.clear();
        T sum = 0, beta_own = 0;
        for (int c = 0; c < x_.lanes; ++c) {
            const bool chosen = gradient(c) > 0 && (!simplex || (c == best && !to_group));
            const T bound = simplex ? x_.C : c == x_.y ? x_.upper_own : x_.upper;
            const T target = chosen ? bound : T(0);
            x_.z[c] = c == x_.y ? T(0) : target;
            if (c == x_.y) {
                beta_own = target;
            } else if (target != x_.beta[c]) {
                x_.changes.push_back({c, x_.beta[c] - target, target});
                sum += target - x_.beta[c];
            }
        }
        x_.move = {.dense = false,
                   .own_change = x_.machine.relative ? sum : beta_own - x_.beta_own,
                   .beta_own = beta_own,
                   .beta_group = x_.group.beta};
        if (has_group) {
            const bool chosen = x_.group_gradient() > 0 && (!simplex || to_group);
            x_.move_group(!chosen ? T(0) : simplex ? x_.C / T(x_.group.count) : x_.upper);
        }
    }

    Prepared<T> x_;
    Simplex<T> simplex_;
};

extern template class ExampleBlock<float>;
extern template class ExampleBlock<double>;

}  // namespace polymargin
