// The dual variables of one example: from its scores to the block problem, and from the solution
// of that to the change of beta. Knows nothing of rows, weights or kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "polymargin/block/block.hpp"
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

// A change of one class.
template <class T>
struct Change {
    std::int32_t c;
    T delta;  // of a_c
    T beta;   // new beta_c, which may sit exactly at its bound
};

template <class T>
class ExampleBlock {
public:
    // How the solution differs from the present beta.
    struct Move {
        bool dense;    // delta() holds the change of a_c, new_beta() the new beta_c; else changes()
        T own_change;  // of a_y
        T beta_own;    // new beta_y
    };

    ExampleBlock(const Machine& machine, int k)
        : machine_(machine),
          k_(k),
          size_(simd::padded<T>(k)),
          rho_(T(machine.rho(k))),
          own_margin_(T(machine.own_margin(k))),
          f_(size_),
          beta_(size_),
          z_(size_),
          delta_(size_) {
        if (machine.simplex()) {
            classes_.resize(k);
            list_z_.resize(size_);
            list_beta_.resize(size_);
        }
        changes_.reserve(k);
    }

    // Takes the block for `lanes` of the classes, at most as many as at construction.
    void restrict_to(int lanes) {
        k_ = lanes;
        size_ = simd::padded<T>(lanes);
        for (std::size_t c = k_; c < size_; ++c) beta_[c] = 0;
    }

    // Buffers of padded length to be filled before prepare(); the padding of beta is 0.
    T* scores() { return f_.data(); }
    T* beta() { return beta_.data(); }
    std::size_t size() const { return size_; }

    // The block problem of an example of class y with q = |x|^2 and bound C. A stable example has
    // all gradients beyond `threshold`.
    State prepare(std::int32_t y, T q, T C, T threshold) {
        start(y, q, C);
        gradients();
        return prepare(threshold);
    }

    // The same from gradients g_c = t_c - nu_c^T f in place of the scores.
    State prepare_gradients(std::int32_t y, T q, T C, T threshold) {
        start(y, q, C);
        base_ = 0;
        own_gradient_ = machine_.has_own ? f_[y] : never;
        mask();
        return prepare(threshold);
    }

    // Solves the prepared block problem.
    template <class Solve>
    const Move& solve(Solve&& solver) {
        if (q_ == 0) {
            move_linear();
        } else {
            const Thresholds<T> thresholds = solver(block_);
            shift_ = thresholds.other;
            if (!machine_.simplex()) {
                move_all(thresholds, block_.upper, upper_, block_.upper_own, upper_own_);
            } else if (lists()) {
                move_listed(thresholds);
            } else {
                const T full = block_.capacity * nearly;
                move_all(thresholds, full, C_, machine_.has_own ? full : T(0),
                         machine_.has_own ? C_ : T(0));
            }
        }
        return move_;
    }

    // One call for tests: the new beta from gradients and the present beta, both of k entries.
    template <class Solve>
    void solve(const T* gradient, const T* beta, T q, T C, std::int32_t y, Solve& solver, T* out) {
        std::copy_n(gradient, k_, f_.data());
        std::fill(beta_.begin(), beta_.end(), T(0));
        std::copy_n(beta, k_, beta_.data());
        std::copy_n(beta, k_, out);
        if (!prepare_gradients(y, q, C, T(0)).moves) return;
        const Move& move = solve(solver);
        if (move.dense) {
            std::copy_n(z_.data(), k_, out);
        } else {
            for (const auto& change : changes_) out[change.c] = change.beta;
        }
        out[y] = move.beta_own;
    }

    // Calls body(c, beta, gradient) for the variables strictly between their bounds; true if the
    // simplex is full, so that their sum is fixed.
    template <class Body>
    bool for_each_free(Body&& body) const {
        const bool simplex = machine_.simplex();
        T sum = beta_own_;
        for (int c = 0; c < k_; ++c) {
            const T beta = beta_[c];
            sum += beta;
            if (beta > 0 && (simplex || beta < upper_)) body(c, beta, f_[c] + base_);
        }
        if (beta_own_ > 0 && (simplex || beta_own_ < upper_own_)) {
            body(y_, beta_own_, own_gradient_);
        }
        return simplex && sum >= C_ * (1 - 16 * std::numeric_limits<T>::epsilon());
    }

    // After solve(): calls body(c, new beta_c), by ascending class, for the other classes that are
    // positive or less than `near` of a gradient away from it.
    template <class Body>
    void for_each_near(T near, Body&& body) const {
        if (q_ == 0) {
            for (int c = 0; c < k_; ++c) {
                if (z_[c] > 0) body(c, z_[c]);
            }
        } else if (machine_.simplex() && lists()) {
            for (int at = 0; at < list_; ++at) {
                const T b = list_z_[at] - shift_;
                if (b > -near) body(classes_[at], beta_of(b));
            }
        } else {
            const T base = base_, q = q_, floor = shift_ + block_.offset - near;
            simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
                const P b = q * simd::load<P>(beta_.data() + at);
                const P z = simd::load<P>(f_.data() + at) + base + b;
                std::uint32_t bits = simd::bits_above(z, floor) |
                                     simd::bits_above(simd::load<P>(z_.data() + at), T(0));
                for (; bits; bits &= bits - 1) {
                    const int c = static_cast<int>(at) + std::countr_zero(bits);
                    body(c, z_[c]);
                }
            });
        }
    }

    std::vector<T>& delta() { return delta_; }
    const T* new_beta() const { return z_.data(); }
    std::vector<Change<T>>& changes() { return changes_; }

    // Of the prepared block.
    Report report() const { return machine_.simplex() ? report_simplex() : report_box(); }

private:
    // Far below every score, yet finite: it can be multiplied by 0.
    static constexpr T never = std::numeric_limits<T>::lowest() / T(1e8);

    void start(std::int32_t y, T q, T C) {
        y_ = y;
        q_ = q;
        C_ = C;
        upper_ = C * T(machine_.weight_other);
        upper_own_ = machine_.has_own ? C * T(machine_.weight_own) : T(0);
        beta_own_ = beta_[y];
        beta_[y] = 0;
    }

    State prepare(T threshold) {
        if (q_ == 0) return prepare_linear();
        return machine_.simplex() ? prepare_simplex(threshold) : prepare_box(threshold);
    }

    // f becomes the gradients g_c = 1 + f_c (- f_y or - mean) of the other classes.
    void gradients() {
        const T own_score = f_[y_];
        const T mean = machine_.zero_sum ? mean_score() : T(0);
        base_ = T(Machine::other_margin) - (machine_.relative ? own_score : mean);
        own_gradient_ = machine_.has_own ? own_margin_ - (own_score - mean) : never;
        mask();
    }

    // Lanes without a variable of their own never reach the block problem.
    void mask() {
        if (!machine_.has_others) std::fill(f_.begin(), f_.end(), never);
        f_[y_] = never;
        for (std::size_t c = k_; c < size_; ++c) f_[c] = never;
    }

    T mean_score() const {
        simd::Sum<T> sum;
        simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
            sum.add(simd::load<P>(f_.data() + at));
        });
        return sum.value() / T(k_);
    }

    State prepare_linear() {
        double product = double(beta_own_) * own_gradient_;
        steepest_ = std::max(T(0), own_gradient_);
        lowest_ = 0;
        for (int c = 0; c < k_; ++c) {
            const T g = f_[c] + base_;
            product += double(beta_[c]) * g;
            steepest_ = std::max(steepest_, g);
        }
        const double gap = report().loss - product;
        return {gap, gap > 0, gap <= 0};
    }

    State prepare_box(T threshold) {
        const T base = base_, q = q_, upper = upper_, bound = q * upper;
        const T reach = bound + threshold;
        simd::Sum<T> imbalance, gap, total;
        int free = 0;
        std::uint32_t moves = 0, near = 0;
        simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(beta_.data() + at);
            const P g = simd::load<P>(f_.data() + at) + base;
            const P b = q * beta;
            const P z = g + b;
            simd::store(z_.data() + at, z);
            const P moved = simd::clip(z, simd::splat<P>(bound)) - b;
            imbalance.add(moved);
            total.add(b);
            gap.add(upper * simd::max(g, P{}) - beta * g);
            free += std::popcount(simd::bits_above(simd::min(z, bound - z), T(0)));
            moves |= simd::bits_above(simd::max(moved, -moved), T(0));
            near |= simd::bits_above(simd::min(z + threshold, reach - z), T(0));
        });
        const T b_own = q * beta_own_;
        block_ = {.z = z_.data(),
                  .beta = beta_.data(),
                  .q = q,
                  .size = size_,
                  .count = k_,
                  .k = k_,
                  .z_own = own_gradient_ + b_own,
                  .b_own = b_own,
                  .upper = bound,
                  .upper_own = q * upper_own_,
                  .capacity = std::numeric_limits<T>::infinity(),
                  .rho = rho_,
                  .total = total.value() - b_own,
                  .simplex = false,
                  .imbalance = imbalance.value(),
                  .free = free,
                  .largest = 0,
                  .lowest = 0,
                  .offset = 0};
        State state{double(gap.value()), moves != 0, near == 0};
        if (machine_.has_own) {
            const T g = own_gradient_, z = block_.z_own;
            const T moved = block_.clip_own(z) - b_own;
            block_.imbalance -= moved;
            state.gap += double(upper_own_) * std::max(T(0), g) - double(beta_own_) * g;
            state.moves |= moved != 0;
            state.stable &= std::max(-z, z - block_.upper_own) > threshold;
        }
        state.stable &= !state.moves;
        return state;
    }

    // A few classes enter the block problem as they are. Of many, those above a lower bound of the
    // threshold, those near it and those with b > 0 do, as a list.
    State prepare_simplex(T threshold) {
        const T base = base_, q = q_, capacity = q_ * C_;
        simd::Largest<T> top(never), steep(never);
        simd::Sum<T> sum, positive_sum;
        int positive = 0;
        simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(beta_.data() + at);
            const P g = simd::load<P>(f_.data() + at) + base;
            const P z = g + q * beta;
            top.add(z);
            steep.add(g);
            sum.add(beta);
            positive_sum.add(beta > 0 ? z : P{});
            positive += std::popcount(simd::bits_above(beta, T(0)));
        });
        const T largest = top.value(), total = q * sum.value(), b_own = q * beta_own_;
        const T steepest = std::max({T(0), own_gradient_, steep.value()});
        const T slack = C_ - sum.value() - beta_own_;
        steepest_ = steepest;
        lowest_ = slack > (1 - rounded) * C_ ? T(0) : steepest;
        if (beta_own_ > 0) lowest_ = std::min(lowest_, own_gradient_);
        list_ = 0;
        if (positive == 0 && b_own == 0 && steepest == 0) {
            return {0, false, std::max(largest, own_gradient_) < -threshold};
        }
        const T floor = lowest_threshold(largest, positive_sum.value(), positive, total, b_own);
        const T margin = threshold < capacity ? threshold : T(0);
        const T offset = std::max(largest, own_gradient_ + b_own);
        constexpr T infinity = std::numeric_limits<T>::infinity();
        block_ = {.z = z_.data(),
                  .beta = beta_.data(),
                  .q = q,
                  .size = size_,
                  .count = k_,
                  .k = k_,
                  .z_own = (own_gradient_ - offset) + b_own,
                  .b_own = b_own,
                  .upper = infinity,
                  .upper_own = machine_.has_own ? infinity : T(0),
                  .capacity = capacity,
                  .rho = rho_,
                  .total = total - b_own,
                  .simplex = true,
                  .imbalance = 0,
                  .free = 0,
                  .largest = 0,
                  .lowest = floor - offset,
                  .offset = offset};
        T gap = slack * steepest;
        if (machine_.has_own) gap += beta_own_ * (steepest - own_gradient_);
        int candidates = 0;
        if (lists()) {
            gap += list_candidates(floor - margin);
            candidates = list_;
        } else {
            gap += shift_all(floor - margin, candidates);
        }
        const bool corner = candidates == 1 && positive == 1 && sum.value() == C_ &&
                            beta_own_ == 0 && largest - capacity > threshold &&
                            own_gradient_ < largest - capacity - threshold;
        return {gap, gap > 0, corner && margin == threshold};
    }

    bool lists() const { return size_ > 64; }

    // z of all classes less the offset; returns sum_c beta_c (steepest - g_c).
    T shift_all(T floor, int& candidates) {
        const T base = base_, q = q_, offset = block_.offset, steepest = steepest_;
        simd::Sum<T> gap;
        simd::Largest<T> lowest(-lowest_), largest(never);
        simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(beta_.data() + at);
            const P g = simd::load<P>(f_.data() + at) + base;
            const P z = (g - offset) + q * beta;
            simd::store(z_.data() + at, z);
            largest.add(z);
            gap.add(beta * (steepest - g));
            lowest.add(beta > 0 ? -g : simd::splat<P>(never));
            candidates +=
                std::popcount(simd::bits_above(g + q * beta, floor) | simd::bits_above(beta, T(0)));
        });
        lowest_ = -lowest.value();
        block_.largest = largest.value();
        return gap.value();
    }

    // The same for the listed classes.
    T list_candidates(T floor) {
        const T base = base_, q = q_, offset = block_.offset, steepest = steepest_;
        T gap = 0, lowest = lowest_, largest = never;
        simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
            const P beta = simd::load<P>(beta_.data() + at);
            const P z = simd::load<P>(f_.data() + at) + base + q * beta;
            std::uint32_t bits = simd::bits_above(z, floor) | simd::bits_above(beta, T(0));
            for (; bits; bits &= bits - 1) {
                const int c = static_cast<int>(at) + std::countr_zero(bits);
                const T g = f_[c] + base;
                gap += beta_[c] * (steepest - g);
                if (beta_[c] > 0) lowest = std::min(lowest, g);
                classes_[list_] = c;
                list_beta_[list_] = beta_[c];
                list_z_[list_] = (g - offset) + q * beta_[c];
                largest = std::max(largest, list_z_[list_++]);
            }
        });
        lowest_ = lowest;
        block_.z = list_z_.data();
        block_.beta = list_beta_.data();
        block_.size = simd::padded<T>(list_);
        block_.count = list_;
        block_.largest = largest;
        for (std::size_t at = list_; at < block_.size; ++at) {
            list_z_[at] = -std::numeric_limits<T>::infinity();
            list_beta_[at] = 0;
        }
        return gap;
    }

    // A bound of the threshold theta from below. With h(theta) = sum_c (z_c - theta)_+, which no
    // subset of the classes exceeds, theta >= rho (h(theta) - B), and h(theta) = capacity where
    // the simplex is full; here the subset is that of the positive variables.
    T lowest_threshold(T largest, T positive_sum, int positive, T total, T b_own) const {
        const T capacity = q_ * C_;
        T floor = largest - capacity;
        if (rho_ > 0) {
            floor = std::max(floor, (positive_sum - total) / T(1 + positive));
            const T full = capacity - total;  // theta where s^T b = capacity
            if (positive_sum - T(positive) * full >= capacity) {
                floor = std::max({floor, full, (positive_sum - capacity) / T(positive)});
            }
        } else {
            floor = std::max(floor, -(capacity + std::abs(total - b_own)) * T(0.5));
        }
        return floor - 16 * std::numeric_limits<T>::epsilon() *
                           (std::abs(largest) + std::abs(positive_sum) + capacity);
    }

    // beta <- clip(z - thresholds)/q; `upper` where q beta reaches `bound`.
    void move_all(const Thresholds<T>& thresholds, T bound, T upper, T bound_own, T upper_own) {
        const T inverse = 1 / q_, shift = thresholds.other;
        const bool relative = machine_.relative;
        simd::Sum<T> sum;
        simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
            const P b = simd::max(simd::load<P>(z_.data() + at) - shift, P{});
            const P beta = b < bound ? b * inverse : simd::splat<P>(upper);
            const P moved = simd::load<P>(beta_.data() + at) - beta;
            simd::store(delta_.data() + at, moved);
            simd::store(z_.data() + at, beta);
            if (relative) sum.add(moved);
        });
        const T own = block_.z_own - thresholds.own;
        const T beta_own = own <= 0 ? T(0) : own < bound_own ? own * inverse : upper_own;
        move_ = {.dense = true,
                 .own_change = relative ? -sum.value() : beta_own - beta_own_,
                 .beta_own = beta_own};
    }

    // In a simplex, where C is met up to rounding.
    T beta_of(T b) const { return b <= 0 ? T(0) : b >= block_.capacity * nearly ? C_ : b / q_; }

    void move_listed(const Thresholds<T>& thresholds) {
        changes_.clear();
        T sum = 0;
        for (int at = 0; at < list_; ++at) {
            const int c = classes_[at];
            const T beta = beta_of(list_z_[at] - thresholds.other), moved = beta - beta_[c];
            if (moved == 0) continue;
            changes_.push_back({c, -moved, beta});
            sum += moved;
        }
        const T beta_own = machine_.has_own ? beta_of(block_.z_own - thresholds.own) : T(0);
        move_ = {.dense = false,
                 .own_change = machine_.relative ? sum : beta_own - beta_own_,
                 .beta_own = beta_own};
    }

    // q = 0: the block is linear; beta goes to its bound where the gradient is positive.
    void move_linear() {
        const bool simplex = machine_.simplex();
        const auto gradient = [&](int c) { return c == y_ ? own_gradient_ : f_[c] + base_; };
        int best = y_;
        for (int c = 0; c < k_; ++c) {
            if (gradient(c) > gradient(best)) best = c;
        }
        changes_.clear();
        T sum = 0, beta_own = 0;
        for (int c = 0; c < k_; ++c) {
            const bool chosen = gradient(c) > 0 && (!simplex || c == best);
            const T bound = simplex ? C_ : c == y_ ? upper_own_ : upper_;
            const T target = chosen ? bound : T(0);
            z_[c] = c == y_ ? T(0) : target;
            if (c == y_) {
                beta_own = target;
            } else if (target != beta_[c]) {
                changes_.push_back({c, beta_[c] - target, target});
                sum += target - beta_[c];
            }
        }
        move_ = {.dense = false,
                 .own_change = machine_.relative ? sum : beta_own - beta_own_,
                 .beta_own = beta_own};
    }

    // A bound that is missed by rounding counts as reached.
    static constexpr T nearly = 1 - 4 * std::numeric_limits<T>::epsilon();
    static constexpr T rounded = 1 - 64 * std::numeric_limits<T>::epsilon();

    Report report_box() const {
        const T base = base_, upper = upper_, nearly_upper = upper_ * rounded;
        simd::Sum<T> loss;
        simd::Largest<T> violation(T(0));
        const auto see = [&]<class P>(P g, P beta, T bound, T nearly_bound) {
            loss.add(bound * simd::max(g, P{}));
            violation.add(beta < nearly_bound ? g : P{});
            violation.add(beta > 0 ? -g : P{});
        };
        if (machine_.has_others) {
            simd::for_each_pack<T>(size_, [&]<class P>(std::size_t at, P) {
                see(simd::load<P>(f_.data() + at) + base, simd::load<P>(beta_.data() + at), upper,
                    nearly_upper);
            });
        }
        if (machine_.has_own) {
            simd::HalfPack<T> g{}, beta{};
            g[0] = own_gradient_;
            beta[0] = beta_own_;
            see(g, beta, upper_own_, upper_own_ * rounded);
        }
        return {double(loss.value()), double(violation.value())};
    }

    // The largest gradient less the smallest of a positive variable, the slack of
    // sum_c beta_c <= C counting as a variable of gradient 0: Crammer & Singer's psi.
    Report report_simplex() const {
        return {double(C_) * steepest_, std::max(0.0, double(steepest_) - lowest_)};
    }

    const Machine& machine_;
    int k_;
    std::size_t size_;
    T rho_, own_margin_;

    std::vector<T> f_, beta_, z_, delta_;  // by class
    std::vector<std::int32_t> classes_;    // of the list in a simplex,
    std::vector<T> list_z_, list_beta_;    // their z and beta,
    int list_ = 0;                         // and their number
    std::vector<Change<T>> changes_;

    // The prepared example.
    std::int32_t y_ = 0;
    T q_ = 0, C_ = 0, upper_ = 0, upper_own_ = 0, base_ = 0, own_gradient_ = 0, beta_own_ = 0;
    T steepest_ = 0, lowest_ = 0;  // gradients of a simplex: the largest, the smallest in use
    T shift_ = 0;                  // threshold of the other classes in the solution
    Block<T> block_{};
    Move move_{};
};

extern template class ExampleBlock<float>;
extern template class ExampleBlock<double>;

}  // namespace polymargin
