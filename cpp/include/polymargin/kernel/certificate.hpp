// The certificate of a kernel problem, from its dual variables and the scores of all examples.
//
//     D(beta) = sum_ic t_c beta_ic - 1/2 |W|^2,   |W|^2 = sum_i a_i^T f_i,
//     P       = 1/2 |W|^2 + sum_i C_i L_i(f_i),   P - D = sum_i [C_i L_i(f_i) - sum_c beta_ic g_ic]
//
// Everything is summed in double.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "polymargin/example_check.hpp"
#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/scores.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

// Also fills in the gap and the largest KKT violation of each example.
template <class T>
Certificate certify(const KernelProblem<T>& problem, const Duals<T>& duals, const ScoreRows& scores,
                    std::span<double> gaps, std::span<double> violations, int threads) {
    const std::size_t n = problem.size();
    const double rounded = 1 - 64 * double(std::numeric_limits<T>::epsilon());
    const std::size_t parts = std::max<std::size_t>(1, n / 1024);
    std::vector<CertificateSums> sums(parts);
    parallel_for(threads, parts, [&](std::size_t p) {
        ExampleCheck check(problem.machine, problem.k, rounded);
        for (std::size_t i = n * p / parts; i < n * (p + 1) / parts; ++i) {
            scores.read(i, problem.machine.zero_sum, check.scores());
            const auto seen = check(duals, i, problem.labels[i], problem.upper[i]);
            gaps[i] = seen.loss - seen.product;
            violations[i] = seen.violation;
            sums[p].add(seen);
        }
    });
    CertificateSums total;
    for (const CertificateSums& part : sums) total.add(part);
    return total.certificate();
}

// Compiled in cpp/src/kernel.cpp.
extern template Certificate certify(const KernelProblem<float>&, const Duals<float>&,
                                    const ScoreRows&, std::span<double>, std::span<double>, int);
extern template Certificate certify(const KernelProblem<double>&, const Duals<double>&,
                                    const ScoreRows&, std::span<double>, std::span<double>, int);

}  // namespace polymargin
