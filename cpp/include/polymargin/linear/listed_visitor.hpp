// The cheap visit of an example: only the classes in its list of dual variables, that is the
// positive ones and those that were close to it when the example was last visited in full.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/update.hpp"
#include "polymargin/linear/weights/store.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class ListedVisitor {
public:
    using T = typename Rows::value_type;

    ListedVisitor(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
                  const Store& weights)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          weights_(weights),
          block_(problem.machine, problem.k),
          scratch_(problem.rows.scratch_size()),
          weights_scratch_(weights.scratch()) {}

    // A longer list costs more than all classes in order.
    static std::size_t most_entries(int k) { return static_cast<std::size_t>(k) / 8; }

    // The mean over classes needs them all.
    bool pays(std::size_t i) const {
        return !problem_.machine.zero_sum && duals_.listed(i) &&
               duals_.list(i).size() <= most_entries(problem_.k);
    }

    State prepare(std::size_t i, T threshold, T relaxation = 1) {
        list_ = duals_.list(i);
        if (list_.empty()) return {0, false, false};
        y_ = problem_.labels[i];
        const std::int32_t own = load();
        // Without a place for the own variable, as after a warm start: wait for a visit in full.
        if (problem_.machine.has_own && own_ == list_.size()) return {0, false, false};
        row_ = problem_.rows.row(i, scratch_.data());
        block_.restrict_to(static_cast<int>(classes_.size()));
        weights_.scores_of(row_, classes_, block_.scores(), weights_scratch_);
        return block_.prepare(own, norms_[i] / relaxation, T(problem_.upper[i]), threshold);
    }

    template <class Solve>
    void improve(Solve& solver, Update<Rows>& update) {
        const auto& move = block_.solve(solver);
        update.kind = Update<Rows>::Kind::few;
        update.row = row_;
        update.few.clear();
        const auto change = [&](std::size_t at, T delta, T beta) {
            list_[at].value = beta;
            update.few.push_back({classes_[at], delta, beta});
        };
        if (move.dense) {
            for (std::size_t at = 0; at < list_.size(); ++at) {
                const T delta = block_.delta()[at];
                if (delta != 0 && classes_[at] != y_) change(at, delta, block_.new_beta()[at]);
            }
        } else {
            for (const auto& [at, delta, beta] : block_.changes()) change(at, delta, beta);
        }
        if (move.own_change == 0) return;
        if (problem_.machine.has_own) list_[own_].value = move.beta_own;
        update.few.push_back({y_, move.own_change, move.beta_own});
    }

private:
    // The listed classes and then the own one, unless it is among them; returns its place.
    std::int32_t load() {
        classes_.clear();
        T* beta = block_.beta();
        own_ = list_.size();
        for (const auto& [c, value] : list_) {
            if (c == y_) own_ = classes_.size();
            beta[classes_.size()] = value;
            classes_.push_back(c);
        }
        if (own_ == list_.size()) {
            beta[own_] = 0;
            classes_.push_back(y_);
        }
        return static_cast<std::int32_t>(own_);
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    const Store& weights_;
    ExampleBlock<T> block_;
    std::vector<T> scratch_;
    typename Store::Scratch weights_scratch_;

    // The prepared example.
    std::span<DualEntry<T>> list_;
    std::vector<std::int32_t> classes_;
    std::size_t own_ = 0;
    std::int32_t y_ = 0;
    RowOf<Rows> row_{};
};

}  // namespace polymargin
