// When steps of second order (subspace.hpp) come between the sweeps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "polymargin/duals.hpp"
#include "polymargin/fit/pace.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/subspace.hpp"
#include "polymargin/linear/visitor.hpp"

namespace polymargin {

// Where a fit stands after a sweep: what lies behind, the gap that was met and the one to reach.
struct Progress {
    double passes, gap, target;
};

template <class Rows, WeightStore Store>
class Acceleration {
public:
    using T = typename Rows::value_type;

    Acceleration(const LinearProblem<Rows>& problem, const LinearOptions& options,
                 std::span<const T> norms)
        : problem_(problem),
          norms_(norms),
          threads_(options.threads),
          is_small_(problem.features() * problem.k <= small && problem.size() * problem.k <= small),
          is_on_(options.second_order && has_room()),
          is_regular_(is_small_ || pays()) {}

    // After some sweeps a step on the active examples, if it costs at most `left()` visits; returns
    // how many it took. `before()` is called right before a step, and true if there is no need.
    template <class Left, class Before, class Interrupted>
    double after_sweep(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> active,
                       Duals<T>& duals, Store& weights, const Progress& progress, Left&& left,
                       Before&& before, Interrupted&& interrupted) {
        if (!is_on_ || active.empty()) return 0;
        pace_.see(progress.passes, progress.gap);
        ++sweeps_;
        if (!is_due(active.size(), progress.target)) return 0;
        if (before()) return 0;
        if (!step_) {
            step_ = std::make_unique<SubspaceStep<Rows, Store>>(problem_, norms_, duals, weights,
                                                                threads_);
        }
        const double budget = left();
        if (step_->most_passes() * static_cast<double>(active.size()) > budget) return 0;
        sweeps_ = 0;
        pace_.restart();
        return step_->run(visitor, active, budget, interrupted);
    }

private:
    static constexpr std::size_t small = 1 << 14;  // weights, and dual variables
    static constexpr std::size_t most = 1 << 27;   // weights and their like
    // That tell a pace, at first and once a step was taken. Descent on sparse rows starts slowly.
    static constexpr double first_passes = Rows::is_sparse ? 30 : 10;
    static constexpr double next_passes = Rows::is_sparse ? 3 : 10;
    // About what three steps take; of sparse rows they may have to be careful ones.
    static constexpr double many_passes = Rows::is_sparse ? 300 : 150;

    // Where steps are cheap, every few sweeps once the bounds of most examples are settled; else
    // where descent would take long.
    bool is_due(std::size_t active, double target) const {
        constexpr int sweeps_between = 20;
        const bool settled = is_small_ || 4 * active <= problem_.size();
        if (is_regular_ && settled && sweeps_ >= sweeps_between) return true;
        const double least = step_ ? next_passes : first_passes;
        return pace_.way() >= least && pace_.passes_to(target) > many_passes;
    }

    // Dense rows take matrices of the size of the weights.
    bool has_room() const {
        const auto matrices = static_cast<std::size_t>(1 + threads_);
        return Rows::is_sparse || matrices * problem_.features() * problem_.k <= most;
    }

    // Far more examples than features.
    bool pays() const { return (4 + threads_) * problem_.features() <= problem_.size() / 2; }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    int threads_;
    bool is_small_, is_on_, is_regular_;
    int sweeps_ = 0;
    Pace pace_;  // since the last step
    std::unique_ptr<SubspaceStep<Rows, Store>> step_;
};

}  // namespace polymargin
