// The certificate: primal and dual objective of the whole problem in double precision.
//
//     D(beta) = sum_ic t_c beta_ic - 1/2 |W|^2,  W = sum_i a_i x_i^T computed anew from beta, which
//               is first made feasible (feasible.hpp),
//     P(U)    = 1/2 |U|^2 + sum_i C_i L_i(U x_i), U = W rounded to the working precision, centred
//               where the machine is zero-sum: the weights that are returned.
//
// P >= min P = max D >= D whatever happened before, stale reads and rounding errors included.
//
// Where the classes are dealt to several holders, each looks at its own, and a reduction adds up
// what they found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/example_check.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/scores_in_double.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

// One who holds all classes has nothing to reduce. Another reduction replaces each element by the
// sum (add()) over all holders, who call it in the same order, and takes `block` > 1 examples at a
// time.
struct Alone {
    static constexpr std::size_t block = 1;
};

// Of the examples first <= i < last; the weights are centred where the machine is zero-sum.
template <class Rows, WeightStore Store, class T, class Reduce = Alone>
CertificateSums sum_examples(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                             const Store& weights, std::size_t first, std::size_t last,
                             [[maybe_unused]] const Reduce& reduce = {}) {
    // A bound that the working precision misses by rounding counts as reached.
    const double rounded = 1 - 64 * double(std::numeric_limits<T>::epsilon());
    ExampleCheck check(problem.machine, weights.lanes(), rounded);
    ScoresInDouble<Rows, Store> scores(weights, problem.rows, check.size());
    constexpr bool is_alone = Reduce::block == 1;  // then heads are whole as they are
    const std::size_t block = is_alone ? scores.at_once() : Reduce::block;
    std::vector<std::uint32_t> examples(block);
    std::vector<ExampleHead> heads(block);
    std::vector<ExamplePart> parts(block);
    std::vector<double> kept(is_alone ? 0 : block * check.size());
    CertificateSums sums;
    for (std::size_t begin = first; begin < last; begin += block) {
        const std::size_t count = std::min(block, last - begin);
        std::iota(examples.begin(), examples.begin() + static_cast<std::ptrdiff_t>(count),
                  static_cast<std::uint32_t>(begin));
        scores.prepare(std::span<const std::uint32_t>(examples).first(count));
        const auto find_part = [&](std::size_t e) {
            const std::size_t i = begin + e;
            parts[e] = check.find_part(heads[e], duals, i, problem.labels[i], problem.upper[i]);
        };
        for (std::size_t e = 0; e < count; ++e) {
            const std::size_t i = begin + e;
            scores(e, check.scores());
            heads[e] = check.find_head(duals, i, problem.labels[i], problem.upper[i]);
            if constexpr (is_alone) {
                find_part(e);
            } else {
                std::copy_n(check.scores(), check.size(), &kept[e * check.size()]);
            }
        }
        if constexpr (!is_alone) {
            reduce(std::span(heads).first(count));
            for (std::size_t e = 0; e < count; ++e) {
                std::copy_n(&kept[e * check.size()], check.size(), check.scores());
                find_part(e);
            }
            reduce(std::span(parts).first(count));
        }
        for (std::size_t e = 0; e < count; ++e) {
            sums.add(check.join(heads[e], parts[e], problem.upper[begin + e]));
        }
    }
    return sums;
}

// Rebuilds the weights from the dual variables and certifies them.
template <class Rows, WeightStore Store, class T>
Certificate certify(const LinearProblem<Rows>& problem, const Duals<T>& duals, Store& weights,
                    int threads) {
    const double norm = weights.rebuild(problem, duals, threads);
    const std::size_t n = problem.size();
    const std::size_t parts = std::min<std::size_t>(n, threads > 1 ? 8 * threads : 1);
    std::vector<CertificateSums> sums(parts);
    parallel_for(threads, parts, [&](std::size_t part) {
        sums[part] =
            sum_examples(problem, duals, weights, n * part / parts, n * (part + 1) / parts);
    });
    CertificateSums total;
    for (const CertificateSums& part : sums) total.add(part);
    return total.certificate(weights.squared_norm(false), norm);
}

// The same by several holders of classes, each with its lanes of the weights and the dual variables
// of all examples; all of them get the certificate of the whole.
template <class Rows, WeightStore Store, class T, class Reduce>
Certificate certify_together(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                             Store& weights, int threads, const Reduce& reduce) {
    double norms[2] = {0, weights.rebuild(problem, duals, threads)};
    norms[0] = weights.squared_norm(false);
    reduce(std::span<double>(norms));
    return sum_examples(problem, duals, weights, 0, problem.size(), reduce)
        .certificate(norms[0], norms[1]);
}

// The certificate of weights U that stay as they are while the examples pass by once, a part at a
// time: W needs a store of its own, in double.
template <WeightStore Store>
class PassingCertificate {
public:
    PassingCertificate(std::size_t features, const Lanes& lanes, bool bias)
        : W_(features, lanes, bias) {}

    template <class Rows, class T, class Reduce = Alone>
    void add(const LinearProblem<Rows>& part, const Duals<T>& duals,
             const WeightStore auto& weights, const Reduce& reduce = {}) {
        W_.accumulate(part, duals);
        sums_.add(sum_examples(part, duals, weights, 0, part.size(), reduce));
    }

    const CertificateSums& sums() const { return sums_; }
    const Store& W() const { return W_; }

    Certificate at(const WeightStore auto& weights) const {
        return sums_.certificate(weights.squared_norm(false), W_.squared_norm(false));
    }

private:
    Store W_;
    CertificateSums sums_;
};

}  // namespace polymargin
