// When steps of second order (subspace.hpp) come between the sweeps. They need a store that is
// dense; with another one there are none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "polymargin/duals.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/subspace.hpp"
#include "polymargin/linear/visitor.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class Acceleration {
public:
    template <class... Ignored>
    explicit Acceleration(const Ignored&...) {}

    template <class... Ignored>
    double after_sweep(Ignored&&...) {
        return 0;
    }
};

template <class Rows, DenseStore Store>
class Acceleration<Rows, Store> {
public:
    using T = typename Rows::value_type;

    Acceleration(const LinearProblem<Rows>& problem, const LinearOptions& options,
                 std::span<const T> norms)
        : problem_(problem),
          norms_(norms),
          threads_(options.threads),
          is_small_(problem.features() * problem.k <= small && problem.size() * problem.k <= small),
          is_on_(options.second_order && (is_small_ || pays())) {}

    // Every few sweeps, once the bounds of most examples are settled, a step on the active examples
    // if it costs at most `budget` visits; returns how many it took.
    template <class Interrupted>
    double after_sweep(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> active,
                       Duals<T>& duals, Store& weights, double budget, Interrupted&& interrupted) {
        constexpr int sweeps_between = 20;
        const bool settled = is_small_ || 4 * active.size() <= problem_.size();
        if (!is_on_ || !settled || active.empty() || ++sweeps_ < sweeps_between) return 0;
        const auto cost = static_cast<double>(SubspaceStep<Rows, Store>::most_passes);
        if (cost * static_cast<double>(active.size()) > budget) return 0;
        sweeps_ = 0;
        if (!step_) {
            step_ = std::make_unique<SubspaceStep<Rows, Store>>(problem_, norms_, duals, weights,
                                                                threads_);
        }
        return step_->run(visitor, active, interrupted);
    }

private:
    static constexpr std::size_t small = 1 << 14;  // weights, and dual variables

    // A step needs a few more matrices of the size of the weights, and pays where there are far
    // more examples than features or where all of it is small.
    bool pays() const { return (4 + threads_) * problem_.features() <= problem_.size() / 2; }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    int threads_;
    bool is_small_, is_on_;
    int sweeps_ = 0;
    std::unique_ptr<SubspaceStep<Rows, Store>> step_;
};

}  // namespace polymargin
