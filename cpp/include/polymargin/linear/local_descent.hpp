// Descent on the examples of one of several holders, while the others move theirs. Each has all
// weights W as the last round left them, and maximises over the dual variables of its own examples
//
//     sum_ic t_c beta_ic - <W, V> - sigma/2 |V|^2,    V = sum_i (a_i - a_i_old) x_i^T,
//
// inside their box or simplex. The gradients are those of the scores at U = W + sigma V and the
// curvature is sigma |x_i|^2, so these are the sweeps of block descent on U, with norms and with
// changes of the weights that are sigma times as large. Then W <- W + sum V over the holders: the
// dual variables stay feasible, and D rises by at least what all of them have gained together as
// long as |sum V|^2 <= sigma sum |V|^2. That is so with sigma the number of holders, and with less
// where their changes point in different directions. Variables at rest are left out of the sweeps
// (idle.hpp).
//
// Ma, Smith, Jaggi, Jordan, Richtarik & Takac (2015), algorithm 1 with gamma = 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "polymargin/linear/active_sweep.hpp"
#include "polymargin/linear/problem.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class LocalDescent {
public:
    using T = typename Rows::value_type;

    // `weights` is U.
    LocalDescent(const LinearProblem<Rows>& problem, const LinearOptions& options, Duals<T>& duals,
                 Store& weights)
        : of_rows_(working_norms(problem)),
          norms_(of_rows_),
          has_lists_(options.class_lists && !duals.flat() && !problem.machine.zero_sum),
          idle_(problem.size()),
          examples_(problem, norms_, duals, weights, options) {
        if (options.shrinking) examples_.watch(idle_);
    }

    void set_sigma(double sigma) {
        examples_.set_reach(T(sigma));
        for (std::size_t i = 0; i < norms_.size(); ++i) norms_[i] = T(sigma) * of_rows_[i];
    }

    // A sweep over all examples that are not idle, or over those that the last one left active.
    void begin(bool all) {
        idle_.begin(all);
        if (all) examples_.take_back();
        listed_ = !all && has_lists_;
        examples_.begin();
    }

    struct Met {
        double gap;  // of the examples as they were met
        double visits;
    };

    // Part number `part` of a sweep in equal ones. Blocks whose own gap is not above `negligible`
    // stay as they are.
    template <class Interrupted>
    Met visit(std::size_t part, std::size_t parts, double negligible, Interrupted&& interrupted) {
        const std::size_t n = examples_.size(), first = n * part / parts;
        const std::size_t last = n * (part + 1) / parts;
        return {examples_.visit(first, last, listed_, negligible, interrupted),
                static_cast<double>(last - first)};
    }

    void end() { examples_.end(true, listed_); }

    // The variables at rest, where they are left out.
    IdleVariables& idle() { return idle_; }

private:
    std::vector<T> of_rows_, norms_;  // |x_i|^2, and sigma times as much
    bool has_lists_, listed_ = false;
    IdleVariables idle_;
    ActiveSweep<Rows, Store> examples_;
};

}  // namespace polymargin
