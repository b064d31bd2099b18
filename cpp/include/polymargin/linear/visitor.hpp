// One visit of an example, all classes: its scores, its block problem, the new dual variables and
// what they add to the weights. Each thread has a visitor of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/linear/listed_visitor.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/update.hpp"
#include "polymargin/linear/weights/store.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class Visitor {
public:
    using T = typename Rows::value_type;
    using Move = typename ExampleBlock<T>::Move;

    Visitor(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
            const Store& weights)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          weights_(weights),
          block_(problem.machine, problem.k),
          scratch_(problem.rows.scratch_size()) {}

    // Keeps no dual variables: every example is met with beta = 0. `duals` has one row.
    void forget_duals() { forgets_ = true; }

    // Scores and block problem of example i. Its curvature is divided by `relaxation`, so that the
    // solution lies beyond the best one by itself, inside the bounds.
    State prepare(std::size_t i, T threshold, T relaxation = 1) {
        i_ = forgets_ ? 0 : i;
        y_ = problem_.labels[i];
        row_ = problem_.rows.row(i, scratch_.data());
        duals_.put(i_, block_.beta());
        weights_.scores(row_, block_.scores());
        return block_.prepare(y_, norms_[i] / relaxation, T(problem_.upper[i]), threshold);
    }

    // Solves the prepared block and moves the dual variables there; the weights are left to the
    // update. Classes less than `near` of a gradient away from being positive are listed with
    // those that are.
    template <class Solve>
    void improve(Solve& solver, T near, Update<Rows>& update) {
        const Move& move = block_.solve(solver, near);
        update.row = row_;
        if (duals_.flat()) {
            store_flat(move);
        } else {
            store_list(move, near);
        }
        const bool centres = problem_.machine.zero_sum && move.dense;
        if (!duals_.flat() && !centres && block_.changes_few()) {
            update.kind = Update<Rows>::Kind::few;
            block_.changes().swap(update.few);
            if (move.own_change != 0) update.few.push_back({y_, move.own_change, move.beta_own});
            return;
        }
        std::vector<T>& delta = block_.delta();
        if (!move.dense) {
            std::fill(delta.begin(), delta.end(), T(0));
            for (const auto& change : block_.changes()) delta[change.c] = change.delta;
        }
        delta[y_] = move.own_change;
        if (problem_.machine.zero_sum) centre(delta.data());
        update.kind = Update<Rows>::Kind::dense;
        delta.swap(update.delta);
    }

    // Forgets the prepared block without solving it.
    void discard() {
        if (!duals_.flat()) duals_.take_out(i_, block_.beta());
    }

    Report report() const { return block_.report(); }
    const ExampleBlock<T>& block() const { return block_; }

private:
    void store_flat(const Move& move) {
        if (forgets_) return;
        T* beta = duals_.flat_row(i_);
        if (move.dense) {
            std::copy_n(block_.new_beta(), problem_.k, beta);
        } else {
            for (const auto& change : block_.changes()) beta[change.c] = change.beta;
        }
        beta[y_] = move.beta_own;
    }

    // A machine with a variable of the own class always lists it.
    void store_list(const Move& move, T near) {
        if (forgets_) return;
        if (move.dense && duals_.in_full(block_.positives())) {
            discard();
            duals_.assign_in_full(i_, block_.new_beta(), y_, move.beta_own);
            return;
        }
        entries_.clear();
        bool own = problem_.machine.has_own;  // still to be listed
        const std::size_t most = ListedVisitor<Rows, Store>::most_entries(problem_.k);
        block_.for_each_near(near, most, [&](std::int32_t c, T beta) {
            if (own && y_ < c) {
                entries_.push_back({y_, move.beta_own});
                own = false;
            }
            entries_.push_back({c, beta});
        });
        if (own) entries_.push_back({y_, move.beta_own});
        if (entries_.size() > most) {
            std::erase_if(entries_, [](const DualEntry<T>& entry) { return entry.value == 0; });
        }
        discard();
        duals_.assign(i_, entries_);
    }

    // Single precision would lose the small centred weights of a zero-sum machine beside their
    // large mean, so the mean is taken off where all classes are updated anyway.
    void centre(T* delta) const {
        T mean = 0;
        for (int c = 0; c < problem_.k; ++c) mean += delta[c];
        mean /= T(problem_.k);
        for (int c = 0; c < problem_.k; ++c) delta[c] -= mean;
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    const Store& weights_;
    ExampleBlock<T> block_;
    std::vector<T> scratch_;
    std::vector<DualEntry<T>> entries_;
    bool forgets_ = false;

    // The prepared example.
    std::size_t i_ = 0;
    std::int32_t y_ = 0;
    RowOf<Rows> row_{};
};

}  // namespace polymargin
