// Decomposition with one or two variables at a time: Doğan, Glasmachers & Igel (2011), section 4.
//
//     max_beta  sum_n t_n beta_n - 1/2 beta^T Q beta,   Q_(ic),(jd) = K_ij nu_c^T nu_d  (eq. 4)
//
// Box machines, 0 <= beta_ic <= C_i weight_c:
//     SMO    moves the violator n of the largest g_n^2 / Q_nn, exactly (4.2)
//     S2DO   moves two: i, the violator of the largest |g|, and the violator j with which the gain
//            without bounds is largest (4.3, A.1), exactly inside the box (A.2)
// Simplex machines, beta_ic >= 0, sum_c beta_ic <= C_i:
//     both   move mass between two variables of one example (4.4), the slack of the sum counting as
//            a variable of gradient 0 without a row in Q: into the largest gradient, out of the
//            variable with the largest (g_u - g_v)^2 / (Q_uu - 2 Q_uv + Q_vv)
//
// Shrinking: a variable at a bound whose gradient points outwards by more than the largest
// violation leaves; an example without variables is not looked at until complete().
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/kernel/decomposition.hpp"
#include "polymargin/kernel/margin_products.hpp"
#include "polymargin/kernel/row_cache.hpp"
#include "polymargin/kernel/scored_duals.hpp"
#include "polymargin/kernel/two_variables.hpp"

namespace polymargin {

template <class T>
class Sequential {
public:
    Sequential(ScoredDuals<T>& state, RowCache<T>& rows, bool two_variables, bool shrinking)
        : state_(state),
          problem_(state.problem()),
          rows_(rows),
          products_(problem_.machine, problem_.k),
          own_product_(products_.own()),
          least_distance_(products_.least_distance()),
          shrinking_(shrinking),
          kind_(problem_.machine.simplex() ? Kind::pair
                : two_variables            ? Kind::two
                                           : Kind::one),
          active_(state.size()),
          violations_(state.size()),
          inverse_(state.size()),
          moves_(2) {
        std::iota(active_.begin(), active_.end(), std::uint32_t{0});
        for (std::size_t i = 0; i < state.size(); ++i) {
            inverse_[i] = problem_.diagonal[i] > 0 ? 1 / double(problem_.diagonal[i]) : infinity;
        }
    }

    Advance advance(std::int64_t limit, double enough, Watch& watch) {
        Advance done{0, 0};
        while (done.taken < limit && !watch.interrupted()) {
            select();
            if (violation_ <= enough) break;
            if (shrinking_ && --until_shrink_ <= 0) shrink();
            ++done.taken;
            if (step()) ++done.moved;
        }
        flush();
        return done;
    }

    double violation() const { return violation_; }
    std::int64_t active() const { return static_cast<std::int64_t>(active_.size()); }
    bool whole() const { return active_.size() == state_.size(); }

    // Of the whole problem; those that are left out stay so.
    Certificate certificate() {
        if (whole()) return state_.check();
        ScoredDuals<T> up_to_date = state_;
        up_to_date.recompute(inactive(), rows_);
        return up_to_date.check();
    }

    void complete() {
        if (!whole()) {
            state_.recompute(inactive(), rows_);
            active_.resize(state_.size());
            std::iota(active_.begin(), active_.end(), std::uint32_t{0});
        }
        for (std::size_t i = 0; i < state_.size(); ++i) state_.open(i);
        until_shrink_ = shrink_interval();
    }

private:
    enum class Kind { one, two, pair };
    static constexpr std::int32_t slack = MarginProducts::none;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Variable {
        std::size_t i;
        std::int32_t c;
    };
    struct PairChoice {
        std::int32_t to = slack, from = slack;
        double gain = 0;
    };

    std::vector<std::uint32_t> inactive() const {
        std::vector<std::uint32_t> inactive;
        auto next = active_.begin();
        for (std::uint32_t i = 0; i < state_.size(); ++i) {
            if (next != active_.end() && *next == i) ++next;
            else inactive.push_back(i);
        }
        return inactive;
    }

    std::int64_t shrink_interval() const {
        return static_cast<std::int64_t>(std::min<std::size_t>(state_.size(), 1000));
    }

    // Brings the scores of active examples up to date with the last step and finds the example for
    // the next one.
    void select() {
        violation_ = 0;
        double best = -1;
        for (const std::uint32_t i : active_) {
            for (std::size_t m = 0; m < pending_; ++m) state_.apply(i, moves_[m]);
            const double violation = state_.violation(i);
            violations_[i] = violation;
            violation_ = std::max(violation_, violation);
            if (!(violation > 0)) continue;
            if (kind_ == Kind::two) {
                if (violation > best) best = violation, chosen_ = i;
                continue;
            }
            const double gain = violation * violation * inverse_[i];
            if (kind_ == Kind::one) {
                if (gain > best) best = gain, chosen_ = i;
            } else if (gain > best * least_distance_) {
                const PairChoice pair = best_pair(i);
                if (pair.gain > best) best = pair.gain, chosen_ = i, pair_ = pair;
            }
        }
        pending_ = 0;
    }

    void flush() {
        for (const std::uint32_t i : active_) {
            for (std::size_t m = 0; m < pending_; ++m) state_.apply(i, moves_[m]);
        }
        pending_ = 0;
    }

    // False where rounding leaves everything as it is; those variables then stand aside.
    bool step() {
        switch (kind_) {
            case Kind::one: return move_one(largest_in(chosen_));
            case Kind::two: return move_two(largest_in(chosen_));
            case Kind::pair: return move_pair(chosen_, pair_);
        }
        __builtin_unreachable();
    }

    // --- one variable

    // The direction in which a variable violates the optimality conditions, or 0.
    double drive(std::size_t i, std::int32_t c) const {
        const double g = state_.gradient(i, c);
        return g > 0 ? (state_.rises(i, c) ? g : 0) : state_.falls(i, c) ? g : 0;
    }

    // Q_nn is the same for all variables of an example.
    Variable largest_in(std::size_t i) const {
        Variable largest{i, 0};
        double most = -1;
        for (int c = 0; c < problem_.k; ++c) {
            if (const double size = std::abs(drive(i, c)); size > most) most = size, largest.c = c;
        }
        return largest;
    }

    double room_below(Variable v) const { return -double(state_.beta(v.i, v.c)); }
    double room_above(Variable v) const {
        return std::max(0.0, double(state_.upper(v.i, v.c)) - double(state_.beta(v.i, v.c)));
    }

    // The value after a step of mu, exactly at the bound that it reaches.
    T stepped(Variable v, double mu) const {
        const T beta = state_.beta(v.i, v.c), upper = state_.upper(v.i, v.c);
        if (mu <= room_below(v)) return 0;
        if (mu >= room_above(v)) return std::max(upper, beta);
        return std::clamp(T(double(beta) + mu), T(0), std::max(upper, beta));
    }

    // Sets a variable; the kernel row of its example is needed only if it changes.
    bool set(Variable v, T value) {
        if (value == state_.beta(v.i, v.c)) return false;
        AlphaMove<T>& move = moves_[pending_];
        move.start(v.i, rows_.row(v.i));
        state_.set(v.i, v.c, value, move);
        ++pending_;
        return true;
    }

    bool move_one(Variable v) {
        const double g = state_.gradient(v.i, v.c), Q = problem_.diagonal[v.i] * own_product_;
        const double mu = Q > 0 ? g / Q : g > 0 ? infinity : -infinity;
        return set(v, stepped(v, mu)) || stand_aside(v);
    }

    // Rounding leaves the variable as it is: it would be chosen again and again.
    bool stand_aside(Variable v) {
        state_.close(v.i, v.c);
        return false;
    }

    // --- two variables

    bool move_two(Variable first) {
        const T* row = rows_.row(first.i);
        const double g = state_.gradient(first.i, first.c);
        Variable second;
        if (!find_second(first, g, row, second)) return move_one(first);
        const TwoVariables two = couple(first, g, row, second);
        const auto mu = solve_two_variables(two, {room_below(first), room_below(second)},
                                            {room_above(first), room_above(second)});
        if (!(two.value(mu) > 0)) return move_one(first);
        const bool one = set(first, stepped(first, mu[0]));
        const bool other = set(second, stepped(second, mu[1]));
        if (!one && !other) stand_aside(second);
        return one || other || stand_aside(first);
    }

    TwoVariables couple(Variable first, double g, const T* row, Variable second) const {
        const double product =
            products_(problem_.labels[first.i], first.c, problem_.labels[second.i], second.c);
        const double K = first.i == second.i ? problem_.diagonal[first.i] : row[second.i];
        return {.g = {g, state_.gradient(second.i, second.c)},
                .Q_ii = problem_.diagonal[first.i] * own_product_,
                .Q_ij = K * product,
                .Q_jj = problem_.diagonal[second.i] * own_product_};
    }

    // The violator with which the first one gains most. With u = |g_i|/sqrt(Q_ii), w the same for
    // the largest violation of an example and r = |K_ij|/sqrt(K_ii K_jj), no variable of it gains
    // more than (u^2 + 2 u w r + w^2)/(2 (1 - r^2)): most examples need no closer look.
    bool find_second(Variable first, double g, const T* row, Variable& second) const {
        double best = 0;
        const double scale = 1 / own_product_, inverse = inverse_[first.i];
        const double u2 = g * g * inverse * scale;
        for (const std::uint32_t j : active_) {
            if (!(violations_[j] > 0)) continue;
            const double w2 = violations_[j] * violations_[j] * inverse_[j] * scale;
            const double r2 = double(row[j]) * row[j] * inverse * inverse_[j];
            if (j != first.i && r2 < 1 - 1e-9 &&
                u2 + 2 * std::sqrt(u2 * w2 * r2) + w2 <= 2 * (1 - r2) * best) {
                continue;
            }
            for (int c = 0; c < problem_.k; ++c) {
                if ((j == first.i && c == first.c) || drive(j, c) == 0) continue;
                const double gain = two_variable_gain(couple(first, g, row, {j, c}));
                if (gain > best) best = gain, second = {j, c};
            }
            if (best == infinity) break;
        }
        return best > 0;
    }

    // --- pairs inside an example

    double pair_gradient(std::size_t i, std::int32_t c) const {
        return c == slack ? 0 : state_.gradient(i, c);
    }

    PairChoice best_pair(std::size_t i) const {
        PairChoice best;
        double top = 0;
        for (int c = 0; c < problem_.k; ++c) {
            if (!state_.rises(i, c)) continue;
            if (const double g = state_.gradient(i, c); g > top) top = g, best.to = c;
        }
        const auto offer = [&](std::int32_t c) {
            const double drive = top - pair_gradient(i, c);
            if (c == best.to || !(drive > 0)) return;
            const double curvature = products_.distance(problem_.labels[i], best.to, c);
            const double gain = curvature > 0 ? drive * drive * inverse_[i] / curvature : infinity;
            if (gain > best.gain) best.gain = gain, best.from = c;
        };
        for (int c = 0; c < problem_.k; ++c) {
            if (state_.falls(i, c)) offer(c);
        }
        if (state_.slack(i) > 0) offer(slack);
        return best;
    }

    bool move_pair(std::size_t i, const PairChoice& pair) {
        const auto [to, from, gain] = pair;
        const double curvature =
            problem_.diagonal[i] * products_.distance(problem_.labels[i], to, from);
        const double mass = from == slack ? state_.slack(i) : double(state_.beta(i, from));
        const double drive = pair_gradient(i, to) - pair_gradient(i, from);
        const double step = curvature > 0 ? std::min(drive / curvature, mass) : mass;
        const T C = T(problem_.upper[i]);
        AlphaMove<T>& move = moves_[0];
        move.start(i, nullptr);
        if (from != slack) {
            const T left = step >= mass ? T(0) : T(mass - step);
            state_.set(i, from, std::max(left, T(0)), move);
        }
        if (to != slack) {
            const double grown = double(state_.beta(i, to)) + step;
            state_.set(i, to, std::min(T(grown), C), move);
            // Rounding must not let the sum grow beyond C.
            if (const double over = state_.excess(i); over > 0) {
                state_.set(i, to, std::max(T(0), T(double(state_.beta(i, to)) - over)), move);
            }
        }
        if (move.entries.empty()) {
            for (const std::int32_t c : {to, from}) {
                if (c != slack) state_.close(i, c);
            }
            return false;
        }
        move.row = rows_.row(i);
        pending_ = 1;
        return true;
    }

    // --- shrinking

    void shrink() {
        until_shrink_ = shrink_interval();
        // The chosen example stays: its violation is above zero.
        std::erase_if(active_, [&](std::uint32_t i) {
            return i != chosen_ && (kind_ == Kind::pair ? leaves_simplex(i) : leaves_box(i));
        });
    }

    bool leaves_box(std::size_t i) {
        bool leaves = true;
        for (int c = 0; c < problem_.k; ++c) {
            const bool rises = state_.rises(i, c), falls = state_.falls(i, c);
            if (!rises && !falls) continue;
            const double g = state_.gradient(i, c);
            if ((!falls && g < -violation_) || (!rises && g > violation_)) state_.close(i, c);
            else leaves = false;
        }
        return leaves;
    }

    // Mass stays where it is if nothing but one variable, slack included, is left.
    bool leaves_simplex(std::size_t i) {
        const bool has_slack = state_.slack(i) > 0;
        const double low = state_.reach(i).low, least = has_slack ? std::min(low, 0.0) : low;
        int left = has_slack || 0 >= least - violation_;
        for (int c = 0; c < problem_.k; ++c) {
            const bool rises = state_.rises(i, c), falls = state_.falls(i, c);
            if (!rises && !falls) continue;
            if (!falls && state_.gradient(i, c) < least - violation_) state_.close(i, c);
            else ++left;
        }
        return left <= 1;
    }

    ScoredDuals<T>& state_;
    const KernelProblem<T>& problem_;
    RowCache<T>& rows_;
    MarginProducts products_;
    double own_product_, least_distance_;
    bool shrinking_;
    Kind kind_;

    std::vector<std::uint32_t> active_;  // ascending
    std::vector<double> violations_, inverse_;
    double violation_ = 0;
    std::int64_t until_shrink_ = 0;

    // The choice of the last selection, and what the last step changed.
    std::size_t chosen_ = 0;
    PairChoice pair_;
    std::vector<AlphaMove<T>> moves_;
    std::size_t pending_ = 0;
};

// Compiled in cpp/src/decomposition.cpp.
extern template class Sequential<float>;
extern template DecompositionOutcome decompose(const Goal&, const ScoredDuals<float>&,
                                               Sequential<float>&, const Observer&);
extern template class Sequential<double>;
extern template DecompositionOutcome decompose(const Goal&, const ScoredDuals<double>&,
                                               Sequential<double>&, const Observer&);

}  // namespace polymargin
