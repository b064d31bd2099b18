// One example at a time: Crammer & Singer (2001), figure 4 and section 7, for simplex machines
// without an own variable (CS, ADM). In this library's scale of C and with margins of 1,
//
//     psi_i = max_c g_ic - min_{c: beta_ic > 0} g_ic      (the slack of sum_c beta_ic <= C_i counts
//                                                          as a variable of gradient 0)
//
// is the violation of an example's optimality conditions. A step solves the block of one example
// by the fixed-point iteration (block/fixed_point.hpp) to a tolerance of eps/2 and brings the
// scores of all others up to date.
//
//     choice       kkt: the largest psi, where it is above eps;
//                  cyclic, random: every example in turn whatever its psi, as in the baseline of
//                  section 7 (version 1); active set and cooling need psi and have no part in it
//     active set   examples with beta != 0 come first; others only where psi <= eps for all those
//     cooling      eps(t) = eps_0 e^-t, eps_0/(t + 1) or eps_0/log10(t + 10) in step t, eps_0 =
//                  0.999, until it is the accuracy asked for
//
// Differences from the paper, all needed to reach any accuracy that is asked for:
//     - where a block is left with psi_i > eps, it is solved again to a tenth of the tolerance;
//     - where psi <= eps(t) for all examples before the accuracy asked for is reached, eps_0 falls
//       to a tenth (the logarithmic schedule would hardly ever end), and where it is reached and
//       the gap is not yet what it should be, the accuracy falls to a tenth.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/block/solver.hpp"
#include "polymargin/kernel/decomposition.hpp"
#include "polymargin/kernel/row_cache.hpp"
#include "polymargin/kernel/scored_duals.hpp"
#include "polymargin/random.hpp"

namespace polymargin {

enum class ExampleChoice { kkt, cyclic, random };
enum class Cooling { none, exponential, linear, logarithmic };

struct CrammerSingerOptions {
    ExampleChoice choice = ExampleChoice::kkt;
    bool active_set = true;
    Cooling cooling = Cooling::logarithmic;
    bool cached = true;
    double tol = 0;          // of the fixed-point iteration; 0: eps/2
    double accuracy = 1e-3;  // eps at the end of the cooling
    std::uint64_t seed = 0;
};

// The accuracy that an example has to miss to be chosen.
class CoolingSchedule {
public:
    CoolingSchedule(Cooling cooling, double goal) : cooling_(cooling), goal_(goal) {}

    double at(std::int64_t step) const {
        const auto t = static_cast<double>(step);
        switch (cooling_) {
            case Cooling::none: return goal_;
            case Cooling::exponential: return std::max(goal_, start_ * std::exp(-t));
            case Cooling::linear: return std::max(goal_, start_ / (t + 1));
            case Cooling::logarithmic: return std::max(goal_, start_ / std::log10(t + 10));
        }
        __builtin_unreachable();
    }
    // No example misses the accuracy of this step, the largest violation being `largest` > 0.
    void lower(std::int64_t step, double largest) {
        while (at(step) >= largest) (at(step) > goal_ ? start_ : goal_) *= 0.1;
    }

private:
    Cooling cooling_;
    double start_ = 0.999, goal_;
};

template <class T>
class CrammerSinger {
public:
    CrammerSinger(ScoredDuals<T>& state, RowCache<T>& rows, const CrammerSingerOptions& options)
        : state_(state),
          problem_(state.problem()),
          rows_(rows),
          options_(options),
          schedule_(options.cooling, options.accuracy),
          block_(problem_.machine, problem_.k),
          solver_({.kind = BlockKind::fixed_point}),
          random_(options.seed),
          order_(state.size()),
          in_use_(state.size()),
          stuck_(state.size()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        for (std::size_t i = 0; i < state.size(); ++i) in_use_[i] = !state.is_zero(i);
    }

    static bool defined_for(const Machine& machine) {
        return machine.simplex() && !machine.has_own;
    }

    Advance advance(std::int64_t limit, double enough, Watch& watch) {
        return options_.choice == ExampleChoice::kkt ? advance_by_violation(limit, enough, watch)
                                                     : advance_in_turn(limit, enough, watch);
    }

    double violation() const { return violation_; }
    std::int64_t active() const {
        if (options_.choice != ExampleChoice::kkt || !options_.active_set) {
            return static_cast<std::int64_t>(state_.size());
        }
        return std::count(in_use_.begin(), in_use_.end(), char{1});
    }
    bool whole() const { return true; }
    void complete() { std::fill(stuck_.begin(), stuck_.end(), char{0}); }
    Certificate certificate() { return state_.check(); }

private:
    struct Choice {
        bool found;
        std::size_t example;
        double violation;  // of the example, or the largest where none is found
    };

    Advance advance_by_violation(std::int64_t limit, double enough, Watch& watch) {
        Advance done{0, 0};
        while (done.taken < limit && !watch.interrupted()) {
            const double eps = std::max(enough, schedule_.at(step_));
            const Choice choice = choose(eps);
            if (choice.found) {
                ++done.taken;
                ++step_;
                if (improve(choice.example, eps)) ++done.moved;
                else stuck_[choice.example] = true;
                continue;
            }
            violation_ = choice.violation;
            if (violation_ <= enough) break;
            schedule_.lower(step_, violation_);
        }
        return done;
    }

    Advance advance_in_turn(std::int64_t limit, double enough, Watch& watch) {
        Advance done{0, 0};
        const auto largest_violation = [&] {
            return largest(0, [](std::size_t) { return true; }).violation;
        };
        violation_ = largest_violation();
        if (violation_ <= enough) return done;
        while (options_.accuracy >= violation_) options_.accuracy *= 0.1;
        const double eps = std::max(enough, options_.accuracy);
        while (done.taken < limit && !watch.interrupted()) {
            if (at_ == 0 && options_.choice == ExampleChoice::random) {
                random_.shuffle(std::span(order_));
            }
            const std::size_t i = order_[at_];
            at_ = (at_ + 1) % order_.size();
            ++done.taken;
            if (improve(i, eps)) ++done.moved;
        }
        violation_ = largest_violation();
        return done;
    }

    double psi(std::size_t i) const { return stuck_[i] ? 0 : state_.violation(i); }

    Choice choose(double eps) {
        if (!options_.active_set) return largest(eps, [](std::size_t) { return true; });
        const Choice used = largest(eps, [&](std::size_t i) { return bool(in_use_[i]); });
        if (used.found) return used;
        Choice unused = largest(eps, [&](std::size_t i) { return !in_use_[i]; });
        if (!unused.found) unused.violation = std::max(used.violation, unused.violation);
        return unused;
    }

    template <class Among>
    Choice largest(double eps, Among&& among) const {
        Choice best{false, 0, 0};
        for (std::size_t i = 0; i < state_.size(); ++i) {
            if (!among(i)) continue;
            if (const double value = psi(i); value > best.violation) best = {false, i, value};
        }
        best.found = best.violation > eps;
        return best;
    }

    // Of the fixed-point iteration.
    double tolerance(double eps) const { return options_.tol > 0 ? options_.tol : 0.5 * eps; }

    // Visits an example until it is as accurate as the others have to be. False where nothing
    // changes, whatever the tolerance of the iteration.
    bool improve(std::size_t i, double eps) {
        double tol = tolerance(eps);
        bool moved = visit(i, tol);
        while (state_.violation(i) > eps && tol > double(std::numeric_limits<T>::epsilon())) {
            tol *= 0.1;
            moved = visit(i, tol) || moved;
        }
        return moved;
    }

    // Solves the block of an example; false where that changes nothing.
    bool visit(std::size_t i, double tol) {
        solver_.set_tolerance(tol);
        const std::int32_t y = problem_.labels[i];
        const int k = problem_.k;
        state_.read(i, block_.scores());
        std::fill(block_.scores() + k, block_.scores() + block_.size(), T(0));
        std::fill_n(block_.beta(), block_.size(), T(0));
        for (int c = 0; c < k; ++c) block_.beta()[c] = state_.beta(i, c);
        move_.start(i, nullptr);
        if (block_.prepare(y, problem_.diagonal[i], T(problem_.upper[i]), T(0)).moves) {
            const auto& move = block_.solve(solver_);
            if (move.dense) {
                for (int c = 0; c < k; ++c) {
                    if (c != y) state_.set(i, c, block_.new_beta()[c], move_);
                }
            } else {
                for (const auto& change : block_.changes()) {
                    state_.set(i, change.c, change.beta, move_);
                }
            }
        }
        if (move_.entries.empty()) return false;
        in_use_[i] = !state_.is_zero(i);
        move_.row = rows_.row(i);
        for (std::size_t j = 0; j < state_.size(); ++j) state_.apply(j, move_);
        if (!options_.cached) rows_.clear();
        return true;
    }

    ScoredDuals<T>& state_;
    const KernelProblem<T>& problem_;
    RowCache<T>& rows_;
    CrammerSingerOptions options_;
    CoolingSchedule schedule_;
    ExampleBlock<T> block_;
    BlockSolver<T> solver_;
    Random random_;

    std::vector<std::uint32_t> order_;  // of a round in turn
    std::size_t at_ = 0;
    std::vector<char> in_use_;  // the active set: beta != 0
    std::vector<char> stuck_;   // rounding leaves them as they are, until the next check
    std::int64_t step_ = 0;
    double violation_ = 0;
    AlphaMove<T> move_;
};

// Compiled in cpp/src/decomposition.cpp.
extern template class CrammerSinger<float>;
extern template DecompositionOutcome decompose(const Goal&, const ScoredDuals<float>&,
                                               CrammerSinger<float>&, const Observer&);
extern template class CrammerSinger<double>;
extern template DecompositionOutcome decompose(const Goal&, const ScoredDuals<double>&,
                                               CrammerSinger<double>&, const Observer&);

}  // namespace polymargin
