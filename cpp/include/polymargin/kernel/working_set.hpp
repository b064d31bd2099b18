// The problem of a working set: a few examples with the Gram matrix and the scores of those alone,
// all else fixed.
//
//     max_beta D(beta) over beta_i, i in W;   f_i = F_i + sum_{j in W} K_ij (a_j - a_j_old)
//
// Scores are kept by class, so that a visit adds a multiple of one row of the Gram matrix to the
// scores of each class that it changed. Visits end when the gap of the working set, as a pass
// meets it, has fallen to a fraction of what it was. Where passes are slow, as they are at large C,
// steps over the two variables that gain most take over (pair_steps.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/block/solver.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/kernel/pair_steps.hpp"
#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/scores.hpp"
#include "polymargin/random.hpp"

namespace polymargin {

template <class T>
class WorkingSet {
public:
    struct Plan {
        double fraction;  // of the first gap at which the visits end
        int passes;       // at most; as many steps as examples are one
    };

    // With steps over pairs where they are asked for and defined.
    WorkingSet(const KernelProblem<T>& problem, BlockChoice choice, bool by_pairs,
               std::uint64_t seed)
        : problem_(problem),
          block_(problem.machine, problem.k),
          solver_(choice, seed),
          random_(seed),
          change_(problem.machine, problem.k),
          pairs_(problem),
          by_pairs_(by_pairs && PairSteps<T>::defined_for(problem.machine)) {}

    // With the choices of another one, for other examples.
    WorkingSet(const KernelProblem<T>& problem, const WorkingSet& other)
        : problem_(problem),
          block_(problem.machine, problem.k),
          solver_(other.solver_),
          random_(other.random_),
          change_(problem.machine, problem.k),
          pairs_(problem),
          by_pairs_(other.by_pairs_) {}

    struct Outcome {
        AlphaChanges<T> changes;
        std::int64_t visits;
    };

    // Moves the dual variables of the examples and says how. `gram` is their Gram matrix, row by
    // row, and row e of `scores` belongs to examples[e].
    Outcome solve(std::span<const std::int64_t> examples, const T* gram, const ScoreRows& scores,
                  const Plan& plan, Duals<T>& duals) {
        load(examples, duals, scores);
        const Descent done = descend(gram, plan);
        std::int64_t visits = done.visits;
        if (by_pairs_ && !done.reached) {
            const std::int64_t most = std::int64_t(plan.passes) * std::int64_t(examples.size());
            visits += pairs_.solve(examples, gram, scores_.data(), stride_, done.enough,
                                   most - visits, beta_.data(), block_.size());
        }
        return {store(duals), visits};
    }

private:
    // Passes between these leave out examples whose gap was negligible.
    static constexpr int full_every = 4;
    // Part of the gap of the pass before it that a slow one leaves.
    static constexpr double slow = 0.6;

    struct Descent {
        std::int64_t visits = 0;
        double enough = 0;  // gap that was to be reached
        bool reached = false;
    };

    // Where pairs are to follow, passes end as soon as one is slow.
    Descent descend(const T* gram, const Plan& plan) {
        Descent done;
        double last = std::numeric_limits<double>::infinity(), negligible = 0;
        for (int pass = 0; pass < plan.passes; ++pass) {
            random_.shuffle(std::span(order_));
            const bool all = pass % full_every == 0;
            double gap = 0;
            for (const std::uint32_t e : order_) {
                if (all || gaps_[e] > negligible) {
                    gaps_[e] = visit(e, gram, negligible);
                    ++done.visits;
                }
                gap += gaps_[e];
            }
            if (pass == 0) done.enough = plan.fraction * gap;
            negligible = 0.1 * done.enough / static_cast<double>(order_.size());
            done.reached = gap <= done.enough;
            if (done.reached || (by_pairs_ && gap > slow * last)) break;
            last = gap;
        }
        return done;
    }

    void load(std::span<const std::int64_t> examples, const Duals<T>& duals,
              const ScoreRows& scores) {
        examples_ = examples;
        const std::size_t q = examples.size(), size = block_.size();
        stride_ = simd::padded<T>(q);
        scores_.assign(stride_ * problem_.k, T(0));
        beta_.assign(q * size, T(0));
        order_.resize(q);
        gaps_.resize(q);
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        for (std::size_t e = 0; e < q; ++e) {
            scores.read(e, problem_.machine.zero_sum, scores_.data() + e,
                        static_cast<std::ptrdiff_t>(stride_));
            duals.for_each(examples[e], [&](std::int32_t c, T b) { beta_[e * size + c] = b; });
        }
    }

    // Returns the gap that the visit met.
    double visit(std::size_t e, const T* gram, double negligible) {
        const std::size_t i = examples_[e], size = block_.size();
        const std::int32_t y = problem_.labels[i];
        T* beta = beta_.data() + e * size;
        for (int c = 0; c < problem_.k; ++c) block_.scores()[c] = scores_[c * stride_ + e];
        std::fill(block_.scores() + problem_.k, block_.scores() + size, T(0));
        std::copy_n(beta, size, block_.beta());
        const State state = block_.prepare(y, problem_.diagonal[i], T(problem_.upper[i]), T(0));
        if (!state.moves || state.gap <= negligible) return state.gap;
        const auto& move = block_.solve(solver_);
        const T* row = gram + e * examples_.size();
        if (move.dense) {
            for (int c = 0; c < problem_.k; ++c) {
                if (c == y) continue;
                add(c, block_.delta()[c], row);
                beta[c] = block_.new_beta()[c];
            }
        } else {
            for (const auto& [c, delta, value] : block_.changes()) {
                add(c, delta, row);
                beta[c] = value;
            }
        }
        add(y, move.own_change, row);
        beta[y] = move.beta_own;
        return state.gap;
    }

    void add(std::int32_t c, T change, const T* row) {
        if (change == 0) return;
        T* scores = scores_.data() + c * stride_;
        for (std::size_t e = 0; e < examples_.size(); ++e) scores[e] += change * row[e];
    }

    // Writes the dual variables back; their change is the difference in double.
    AlphaChanges<T> store(Duals<T>& duals) {
        AlphaChanges<T> changes;
        const std::size_t size = block_.size();
        for (std::size_t e = 0; e < examples_.size(); ++e) {
            const std::size_t i = examples_[e];
            const std::int32_t y = problem_.labels[i];
            change_.clear();
            duals.for_each(i, [&](std::int32_t c, T beta) { change_.add(y, c, -double(beta)); });
            entries_.clear();
            for (int c = 0; c < problem_.k; ++c) {
                const T beta = beta_[e * size + c];
                if (beta == 0) continue;
                entries_.push_back({c, beta});
                change_.add(y, c, double(beta));
            }
            if (change_.append_to(changes, examples_[e])) duals.assign(i, entries_);
        }
        return changes;
    }

    const KernelProblem<T>& problem_;
    ExampleBlock<T> block_;
    BlockSolver<T> solver_;
    Random random_;

    // The working set.
    std::span<const std::int64_t> examples_;
    std::size_t stride_ = 0;
    std::vector<T> scores_;  // by class
    std::vector<T> beta_;    // by example
    std::vector<std::uint32_t> order_;
    std::vector<double> gaps_;  // that the last visits met
    std::vector<DualEntry<T>> entries_;
    AlphaChange change_;
    PairSteps<T> pairs_;
    bool by_pairs_;
};

}  // namespace polymargin
