// The state of a kernel fit: dual variables, scores of all examples, and the certificate.
//
//     D(beta) = sum_ic t_c beta_ic - 1/2 |W|^2,   |W|^2 = sum_i a_i^T f_i,
//     P       = 1/2 |W|^2 + sum_i C_i L_i(f_i),   P - D = sum_i [C_i L_i(f_i) - sum_c beta_ic g_ic]
//
// Everything is summed in double from the scores, which are kept in double. Which examples form a
// working set and where kernel rows come from is left to the caller.
#pragma once

#include <span>
#include <vector>

#include "polymargin/example_check.hpp"
#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/scores.hpp"
#include "polymargin/kernel/working_set.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

template <class T>
class KernelDual {
public:
    KernelDual(const KernelProblem<T>& problem, Duals<T> duals, BlockChoice choice,
               std::uint64_t seed, int threads)
        : problem_(problem),
          duals_(std::move(duals)),
          scores_(problem.size(), problem.k),
          set_(problem_, choice, seed),
          threads_(threads) {}

    // The state of some of its examples, all others fixed. `problem` holds theirs alone.
    KernelDual(const KernelProblem<T>& problem, const KernelDual& whole,
               std::span<const std::int64_t> examples)
        : problem_(problem),
          duals_(whole.duals_.part(examples)),
          scores_(whole.scores_.part(examples)),
          set_(problem_, whole.set_),
          threads_(whole.threads_) {}

    KernelDual(const KernelDual&) = delete;
    KernelDual& operator=(const KernelDual&) = delete;

    const KernelProblem<T>& problem() const { return problem_; }
    const Duals<T>& duals() const { return duals_; }
    const Scores& scores() const { return scores_; }

    // Gap and largest KKT violation of each example, and all of them as a certificate.
    Certificate check(std::span<double> gaps, std::span<double> violations) const {
        const std::size_t n = problem_.size();
        const double rounded = 1 - 64 * double(std::numeric_limits<T>::epsilon());
        const std::size_t parts = std::max<std::size_t>(1, n / 1024);
        std::vector<CertificateSums> sums(parts);
        parallel_for(threads_, parts, [&](std::size_t p) {
            ExampleCheck check(problem_.machine, problem_.k, rounded);
            for (std::size_t i = n * p / parts; i < n * (p + 1) / parts; ++i) {
                scores_.read(i, problem_.machine.zero_sum, check.scores());
                const auto seen = check(duals_, i, problem_.labels[i], problem_.upper[i]);
                gaps[i] = seen.loss - seen.product;
                violations[i] = seen.violation;
                sums[p].add(seen);
            }
        });
        CertificateSums total;
        for (const CertificateSums& part : sums) total.add(part);
        return total.certificate();
    }

    // Solves the problem of a working set; add_scores() then has to bring the scores up to date
    // with changes().
    std::int64_t solve(std::span<const std::int64_t> examples, const T* gram,
                       const typename WorkingSet<T>::Plan& plan) {
        return set_.solve(examples, gram, plan, duals_, scores_, changes_);
    }

    const AlphaChanges<T>& changes() const { return changes_; }

    // By how much the dual objective rose while a part of the examples moved:
    // sum_ic t_c dbeta_ic - 1/2 da^T (f + f').
    double gain(const KernelDual& part, std::span<const std::int64_t> examples) const {
        CompensatedSum sum;
        AlphaChange change(problem_.machine, problem_.k);
        std::vector<double> before(problem_.k), now(problem_.k);
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
            scores_.read(i, centred, before.data());
            part.scores_.read(e, centred, now.data());
            for (int c = 0; c < problem_.k; ++c) {
                rise -= 0.5 * change.values()[c] * (before[c] + now[c]);
            }
            sum += rise;
        }
        return sum.value();
    }

    // Takes over the dual variables of a part; add_scores() then has to bring the scores up to
    // date with changes().
    void absorb(const KernelDual& part, std::span<const std::int64_t> examples) {
        changes_.clear();
        AlphaChange change(problem_.machine, problem_.k);
        std::vector<DualEntry<T>> entries;
        for (std::size_t e = 0; e < examples.size(); ++e) {
            const std::size_t i = examples[e];
            change.set(problem_.labels[i], part.duals_, e, duals_, i);
            change.append_to(changes_);
            duals_.assign_row(i, part.duals_, e, entries);
        }
    }

    // Takes the vectors a of some examples for changes: scores can be summed up from nothing.
    void change_from_zero(std::span<const std::int64_t> examples) {
        changes_.clear();
        std::vector<double> dense(problem_.k);
        for (const std::int64_t i : examples) {
            for_each_alpha(problem_.machine, duals_, i, problem_.labels[i], problem_.upper[i],
                           problem_.k, dense, [&](int c, double a) { changes_.add(c, T(a)); });
            changes_.end_example();
        }
    }

    void clear_scores() { scores_.clear(); }

    // For `which` of the changes, with `rows` their kernel rows from column `first` on.
    void add_scores(std::span<const std::int64_t> which, std::span<const T* const> rows,
                    std::size_t first, std::size_t count) {
        scores_.add(changes_, which, rows, first, count, threads_);
    }

private:
    KernelProblem<T> problem_;
    Duals<T> duals_;
    Scores scores_;
    WorkingSet<T> set_;
    AlphaChanges<T> changes_;
    int threads_;
};

// Compiled in cpp/src/kernel.cpp.
extern template class WorkingSet<float>;
extern template class WorkingSet<double>;
extern template class KernelDual<float>;
extern template class KernelDual<double>;

}  // namespace polymargin
