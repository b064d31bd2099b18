// One visit of an example: its scores, its block, and the update of dual variables and weights.
// Each thread has a visitor of its own.
#pragma once

#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/linear/kernels.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights.hpp"

namespace polymargin {

template <class Rows>
class Visitor {
public:
    using T = typename Rows::value_type;
    using RowView = decltype(std::declval<Rows>().row(0, nullptr));

    Visitor(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
            Weights<T>& weights)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          weights_(weights),
          block_(problem.machine, problem.k),
          scratch_(problem.rows.scratch_size()) {
        entries_.reserve(problem.k);
    }

    // Keeps no dual variables: every example is met with beta = 0. `duals` has one row.
    void forget_duals() { forgets_ = true; }

    // Scores and block problem of example i.
    State prepare(std::size_t i, T threshold) {
        i_ = forgets_ ? 0 : i;
        y_ = problem_.labels[i];
        row_ = problem_.rows.row(i, scratch_.data());
        load();
        const T* bias = problem_.bias ? weights_.row(weights_.features() - 1) : nullptr;
        kernels::scores(row_, weights_, bias, block_.scores());
        return block_.prepare(y_, norms_[i], T(problem_.upper[i]), threshold);
    }

    // Solves the prepared block and moves beta and the weights there.
    template <class Solve>
    void improve(Solve& solver) {
        const auto& move = block_.solve(solver);
        if (move.dense && duals_.flat()) {
            write_flat(move.own_change, move.beta_own);
        } else {
            if (move.dense) collect_changes();
            write_changes(move.own_change, move.beta_own);
        }
        unload();
    }

    // Forgets the prepared block without solving it.
    void discard() { unload(); }

    Report report() const { return block_.report(); }
    const ExampleBlock<T>& block() const { return block_; }

    void prefetch(std::size_t i) const {
        problem_.rows.prefetch(i);
        duals_.prefetch(i);
        __builtin_prefetch(&norms_[i]);
        __builtin_prefetch(&problem_.upper[i]);
        __builtin_prefetch(&problem_.labels[i]);
    }

private:
    void load() {
        T* to = block_.beta();
        if (duals_.flat()) {
            const T* beta = duals_.flat_row(i_);
            for (int c = 0; c < problem_.k; ++c) to[c] = beta[c];
        } else {
            duals_.for_each(i_, [&](std::int32_t c, T value) { to[c] = value; });
        }
    }

    void unload() {
        if (!duals_.flat()) {
            duals_.for_each(i_, [&](std::int32_t c, T) { block_.beta()[c] = 0; });
        }
        if (forgets_) duals_.assign(i_, {});
    }

    void write_flat(T own_change, T beta_own) {
        T* beta = duals_.flat_row(i_);
        T* delta = block_.delta();
        std::copy_n(block_.new_beta(), problem_.k, beta);
        beta[y_] = beta_own;
        delta[y_] = own_change;
        add_outer();
    }

    void collect_changes() {
        auto& changes = block_.changes();
        T* delta = block_.delta();
        changes.clear();
        simd::for_each_pack<T>(block_.size(), [&]<class P>(std::size_t at, P) {
            const P moved = simd::load<P>(delta + at);
            std::uint32_t bits = simd::bits_above(simd::max(moved, -moved), T(0));
            for (; bits; bits &= bits - 1) {
                const int c = static_cast<int>(at) + std::countr_zero(bits);
                changes.push_back({c, delta[c], block_.new_beta()[c]});
                delta[c] = 0;
            }
        });
    }

    // changes() holds those of the other classes, by ascending class.
    void write_changes(T own_change, T beta_own) {
        auto& changes = block_.changes();
        if (changes.empty() && own_change == 0) return;
        store(beta_own);
        if (own_change != 0) changes.push_back({y_, own_change, beta_own});
        if (!duals_.flat() && changes.size() * 8 < block_.size()) {
            kernels::add_outer<T>(row_, std::span<const Change<T>>(changes), weights_);
            if (problem_.bias) {
                T* u = weights_.row(weights_.features() - 1);
                for (const auto& change : changes) u[change.c] += change.delta;
            }
            return;
        }
        T* delta = block_.delta();
        for (const auto& change : changes) delta[change.c] = change.delta;
        add_outer();
        std::fill_n(delta, block_.size(), T(0));
    }

    // The old row merged with the changes; entries that became 0 are dropped.
    void store(T beta_own) {
        const auto& changes = block_.changes();
        if (duals_.flat()) {
            T* beta = duals_.flat_row(i_);
            for (const auto& change : changes) beta[change.c] = change.beta;
            beta[y_] = beta_own;
            return;
        }
        T* beta = block_.beta();
        for (const auto& change : changes) beta[change.c] = change.beta;
        beta[y_] = beta_own;
        entries_.clear();
        std::int32_t next = 0;  // first class not yet taken
        const auto take = [&](std::int32_t c) {
            if (c < next) return;
            next = c + 1;
            if (beta[c] != 0) entries_.push_back({c, beta[c]});
        };
        auto change = changes.begin();
        const auto take_until = [&](std::int32_t c) {
            while (change != changes.end() && change->c <= c) {
                if (y_ < change->c) take(y_);
                take((change++)->c);
            }
            if (y_ <= c) take(y_);
            if (c < problem_.k) take(c);
        };
        duals_.for_each(i_, [&](std::int32_t c, T) { take_until(c); });
        take_until(problem_.k);
        duals_.assign(i_, entries_);
        beta[y_] = 0;
    }

    // Single precision would lose the small centred weights of a zero-sum machine beside their
    // large mean, so the mean is taken off where all classes are updated anyway.
    void centre(T* delta) const {
        T mean = 0;
        for (int c = 0; c < problem_.k; ++c) mean += delta[c];
        mean /= T(problem_.k);
        for (int c = 0; c < problem_.k; ++c) delta[c] -= mean;
    }

    void add_outer() {
        T* delta = block_.delta();
        if (problem_.machine.zero_sum) centre(delta);
        kernels::add_outer(row_, delta, weights_);
        if (!problem_.bias) return;
        T* u = weights_.row(weights_.features() - 1);
        simd::for_each_pack<T>(block_.size(), [&]<class P>(std::size_t at, P) {
            simd::store(u + at, simd::load<P>(u + at) + simd::load<P>(delta + at));
        });
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    Weights<T>& weights_;
    ExampleBlock<T> block_;
    std::vector<T> scratch_;
    std::vector<DualEntry<T>> entries_;
    bool forgets_ = false;

    // The prepared example.
    std::size_t i_ = 0;
    std::int32_t y_ = 0;
    RowView row_{};
};

}  // namespace polymargin
