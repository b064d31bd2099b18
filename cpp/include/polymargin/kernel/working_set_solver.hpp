// The dual variables of a kernel problem, and what moves them: working sets that are solved one
// after the other.
//
//     max_beta D(beta) = sum_ic t_c beta_ic - 1/2 sum_i a_i^T f_i,     a_i = sum_c beta_ic nu_c
//
// Where kernel rows and the scores f of all examples live is left to the caller: scores of the
// examples concerned come in, changes of their vectors a go out, and the caller adds these to the
// scores of all examples, f_j += sum_i K_ij (a_i - a_i_old).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/feasible.hpp"
#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/scores.hpp"
#include "polymargin/kernel/working_set.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

template <class T>
class WorkingSetSolver {
public:
    using Plan = typename WorkingSet<T>::Plan;
    using Outcome = typename WorkingSet<T>::Outcome;

    WorkingSetSolver(const KernelProblem<T>& problem, Duals<T> duals, BlockChoice choice,
                     bool by_pairs, std::uint64_t seed)
        : problem_(problem), duals_(std::move(duals)), set_(problem_, choice, by_pairs, seed) {}

    // For some of its examples, all others fixed. `problem` holds theirs alone.
    WorkingSetSolver(const KernelProblem<T>& problem, const WorkingSetSolver& whole,
                     std::span<const std::int64_t> examples)
        : problem_(problem), duals_(whole.duals_.part(examples)), set_(problem_, whole.set_) {}

    WorkingSetSolver(const WorkingSetSolver&) = delete;
    WorkingSetSolver& operator=(const WorkingSetSolver&) = delete;

    const KernelProblem<T>& problem() const { return problem_; }
    const Duals<T>& duals() const { return duals_; }

    // `gram` and `scores` are those of the examples, in their order.
    Outcome solve(std::span<const std::int64_t> examples, const T* gram, const ScoreRows& scores,
                  const Plan& plan) {
        return set_.solve(examples, gram, scores, plan, duals_);
    }

    // By how much the dual objective rose while a part, made of these examples, moved:
    // sum_ic t_c dbeta_ic - 1/2 da^T (f + f'). `before` and `now` are the scores f and f' of the
    // examples.
    double gain(const WorkingSetSolver& part, std::span<const std::int64_t> examples,
                const ScoreRows& before, const ScoreRows& now) const {
        CompensatedSum sum;
        AlphaChange change(problem_.machine, problem_.k);
        std::vector<double> f_before(problem_.k), f_now(problem_.k);
        const bool centred = problem_.machine.zero_sum;
        for (std::size_t e = 0; e < examples.size(); ++e) {
            const std::size_t i = examples[e];
            const std::int32_t y = problem_.labels[i];
            change.set(y, part.duals_, e, duals_, i);
            const auto margin = [&](std::int32_t c) {
                return problem_.machine.margin(c == y, problem_.k);
            };
            double rise = 0;
            part.duals_.for_each(e, [&](auto c, T beta) { rise += margin(c) * beta; });
            duals_.for_each(i, [&](auto c, T beta) { rise -= margin(c) * beta; });
            before.read(e, centred, f_before.data());
            now.read(e, centred, f_now.data());
            for (int c = 0; c < problem_.k; ++c) {
                rise -= 0.5 * change.values()[c] * (f_before[c] + f_now[c]);
            }
            sum += rise;
        }
        return sum.value();
    }

    // Takes over the dual variables of a part that was made of these examples.
    AlphaChanges<T> absorb(const WorkingSetSolver& part, std::span<const std::int64_t> examples) {
        AlphaChanges<T> changes;
        AlphaChange change(problem_.machine, problem_.k);
        std::vector<DualEntry<T>> entries;
        for (std::size_t e = 0; e < examples.size(); ++e) {
            const std::size_t i = examples[e];
            change.set(problem_.labels[i], part.duals_, e, duals_, i);
            change.append_to(changes, examples[e]);
            duals_.assign_row(i, part.duals_, e, entries);
        }
        return changes;
    }

    // The vectors a of some examples as changes, by which scores of 0 become what they are.
    AlphaChanges<T> changes_from_zero(std::span<const std::int64_t> examples) const {
        AlphaChanges<T> changes;
        std::vector<double> dense(problem_.k);
        for (const std::int64_t i : examples) {
            for_each_alpha(problem_.machine, duals_, i, problem_.labels[i], problem_.upper[i],
                           problem_.k, dense, [&](int c, double a) { changes.add(c, T(a)); });
            changes.end_example(i);
        }
        return changes;
    }

private:
    KernelProblem<T> problem_;
    Duals<T> duals_;
    WorkingSet<T> set_;
};

// Compiled in cpp/src/kernel.cpp.
extern template class WorkingSet<float>;
extern template class WorkingSet<double>;
extern template class WorkingSetSolver<float>;
extern template class WorkingSetSolver<double>;

}  // namespace polymargin
