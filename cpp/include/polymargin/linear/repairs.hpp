// When weights are repaired (primal_repair.hpp) in the course of a fit, and what that has cost.
//
// The dual objective is quadratic where it is flat, the primal one has an edge there: an error of
// the weights that the one feels by its square, the other feels as it is. So the dual variables are
// often good enough long before the weights that belong to them.
#pragma once

#include <optional>
#include <span>

#include "polymargin/duals.hpp"
#include "polymargin/fit/pace.hpp"
#include "polymargin/linear/best_weights.hpp"
#include "polymargin/linear/primal_repair.hpp"
#include "polymargin/linear/problem.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class Repairs {
public:
    using T = typename Rows::value_type;

    Repairs(const LinearProblem<Rows>& problem, const LinearOptions& options,
            std::span<const T> norms, Duals<T>& duals, BestWeights<Rows, Store>& best)
        : problem_(problem),
          options_(options),
          norms_(norms),
          duals_(duals),
          best_(best),
          is_on_(Rows::is_sparse && options.second_order && options.goal.by_gap()) {
        if (duals.nonzeros() == 0) see_dual(0, 0);
    }

    // After a sweep, the gap that it met; after a check, the dual objective.
    void see_gap(double passes, double gap) { pace_.see(passes, gap); }
    void see_dual(double passes, double dual) { dual_pace_.see(passes, dual); }

    // Whether the dual variables are good enough for this gap to become the target, which will take
    // descent longer than a repair.
    bool is_due(double gap, double target) const {
        return is_on_ && gap <= promising * target && dual_pace_.left() <= little * target &&
               pace_.passes_to(target) > many_passes;
    }

    // Before a step of second order: whether other weights make it needless.
    template <class Interrupted>
    bool before_step(const Store& weights, double visits, double left, Interrupted&& interrupted) {
        return run(weights, nearly, visits, left, interrupted);
    }
    // Once it is due.
    template <class Interrupted>
    bool run(const Store& weights, double visits, double left, Interrupted&& interrupted) {
        return run(weights, promising, visits, left, interrupted);
    }

    // Of all repairs.
    double visits() const { return visits_; }

private:
    // Tolerances, of the gap before a repair and of what the dual objective may lack.
    static constexpr double promising = 100, nearly = 20, little = 0.3;
    static constexpr double many_passes = 25;

    // Whether weights that are not those of the dual variables are good enough for these. Repairs
    // take a part of all visits at most.
    template <class Interrupted>
    bool run(const Store& weights, double most, double visits, double left,
             Interrupted&& interrupted) {
        if (!is_on_ || 4 * visits_ > visits) return false;
        if (!repair_) repair_.emplace(problem_, norms_, duals_, options_.threads);
        if (left < repair_->least()) return false;
        const double tol = options_.goal.tol;
        const auto found = repair_->run(weights, tol, most, left, interrupted);
        visits_ += found.visits;
        best_.see(found.weights, found.primal);
        return found.primal - found.dual <= tol * found.primal;
    }

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    BestWeights<Rows, Store>& best_;
    bool is_on_;
    Pace pace_;
    DualPace dual_pace_;
    std::optional<PrimalRepair<Rows, Store>> repair_;
    double visits_ = 0;
};

}  // namespace polymargin
