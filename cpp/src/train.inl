// Definitions behind linear/train.hpp, compiled once for each kind of rows.
#pragma once

#include <algorithm>

#include "polymargin/fit/watch.hpp"
#include "polymargin/linear/block_descent.hpp"
#include "polymargin/linear/class_descent.hpp"
#include "polymargin/linear/searching_descent.hpp"
#include "polymargin/linear/single_first.hpp"
#include "polymargin/linear/stream.hpp"
#include "polymargin/linear/train.hpp"
#include "polymargin/linear/weights/sparse.hpp"

namespace polymargin {

template <class Rows, WeightStore Store, class T>
LinearOutcome train(const LinearProblem<Rows>& problem, const LinearOptions& options,
                    Duals<T>& duals, Store& weights, const Observer& observer) {
    // Where classes share nothing, each is trained on its own. Searches score many examples at
    // once; the mean over classes needs them all at every visit.
    if constexpr (requires { typename Store::template Together<Rows, T>; }) {
        const double variables = static_cast<double>(problem.size()) * problem.k;
        const bool pays = options.class_lists && variables >= options.searched_from &&
                          !options.goal.record_passes;
        if (pays && !duals.flat() && problem.machine.separable()) {
            return ClassDescent<Rows, Store>(problem, options, duals, weights, observer).run();
        }
        if (pays && !duals.flat() && !problem.machine.zero_sum) {
            return SearchingDescent<Rows, Store>(problem, options, duals, weights, observer).run();
        }
    }
    if constexpr (Rows::is_sparse && std::is_same_v<Store, DenseWeights<double>>) {
        if (duals.nonzeros() == 0 && SingleFirst<Rows>::pays(problem, options)) {
            return train_single_first(problem, options, duals, weights, observer);
        }
    }
    return BlockDescent<Rows, Store>(problem, options, duals, weights, observer).run();
}

template <class Rows, WeightStore Store>
std::pair<double, double> descend(LocalDescent<Rows, Store>& local, std::size_t part,
                                  std::size_t parts, double negligible, const Observer& observer) {
    Watch watch(observer);
    const auto met =
        local.visit(part, parts, negligible, [&](std::size_t at) { return watch.interrupted(at); });
    return {met.gap, met.visits};
}

template <class Rows, WeightStore Store, class T>
std::size_t train_stream(const LinearProblem<Rows>& problem, const LinearOptions& options,
                         Store& weights, Duals<T>* kept, const Observer& observer) {
    return visit_stream(problem, options, weights, kept, observer);
}

template <class Rows, WeightStore Store, class T>
void check_stream(const LinearProblem<Rows>& problem, const Store& weights, const Duals<T>& kept,
                  PassingCertificate<typename Store::InDouble>& certificate) {
    certificate.add(problem, kept, weights);
}

template <class Rows, WeightStore Store>
void score_own_classes(const LinearProblem<Rows>& problem, const Store& weights,
                       std::span<double> own_scores) {
    find_own_scores(problem, weights, own_scores);
}

template <class Rows, WeightStore Store, class T>
double rebuild_own_classes(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                           Store& weights) {
    return weights.rebuild(problem, duals, 1);
}

template <class Rows, WeightStore Store, class T>
CertificateSums check_own_classes(const LinearProblem<Rows>& problem, const Store& weights,
                                  const Duals<T>& duals, std::span<const double> own_scores) {
    return sum_examples(problem, duals, weights, 0, problem.size(), KnownOwnScores(own_scores));
}

template <class Rows, class T>
void predict_scores(const Rows& rows, const T* coef, std::size_t k, std::ptrdiff_t class_stride,
                    std::ptrdiff_t feature_stride, const T* intercept, T* out, int threads) {
    const std::size_t n = rows.size();
    const std::size_t parts = std::min<std::size_t>(n, threads > 1 ? 8 * threads : 1);
    parallel_for(threads, parts, [&](std::size_t part) {
        std::vector<T> scratch(rows.scratch_size());
        for (std::size_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
            const auto row = rows.row(i, scratch.data());
            T* f = out + i * k;
            std::copy_n(intercept, k, f);
            for (std::size_t p = 0; p < row.size(); ++p) {
                const T x = row.value(p);
                const T* u = coef + static_cast<std::ptrdiff_t>(row.index(p)) * feature_stride;
                if (class_stride == 1) {
                    for (std::size_t c = 0; c < k; ++c) f[c] += x * u[c];
                } else {
                    for (std::size_t c = 0; c < k; ++c) {
                        f[c] += x * u[static_cast<std::ptrdiff_t>(c) * class_stride];
                    }
                }
            }
        }
    });
}

}  // namespace polymargin

// For a kind of rows (a name without a comma) and a store of weights.
#define POLYMARGIN_COMPILE_STORE(Rows, Store)                                              \
    namespace polymargin {                                                                 \
    template LinearOutcome train(const LinearProblem<Rows>&, const LinearOptions&,         \
                                 Duals<Rows::value_type>&, Store<Rows::value_type>&,       \
                                 const Observer&);                                         \
    template std::size_t train_stream(const LinearProblem<Rows>&, const LinearOptions&,    \
                                      Store<Rows::value_type>&, Duals<Rows::value_type>*,  \
                                      const Observer&);                                    \
    template void check_stream(const LinearProblem<Rows>&, const Store<Rows::value_type>&, \
                               const Duals<Rows::value_type>&,                             \
                               PassingCertificate<Store<double>>&);                        \
    }

#define POLYMARGIN_COMPILE(Rows)                                                               \
    POLYMARGIN_COMPILE_STORE(Rows, DenseWeights)                                               \
    POLYMARGIN_COMPILE_STORE(Rows, SparseWeights)                                              \
    namespace polymargin {                                                                     \
    template std::pair<double, double> descend(                                                \
        LocalDescent<Rows, DenseWeights<Rows::value_type>>&, std::size_t, std::size_t, double, \
        const Observer&);                                                                      \
    template void score_own_classes(const LinearProblem<Rows>&,                                \
                                    const DenseWeights<Rows::value_type>&, std::span<double>); \
    template double rebuild_own_classes(const LinearProblem<Rows>&,                            \
                                        const Duals<Rows::value_type>&,                        \
                                        DenseWeights<Rows::value_type>&);                      \
    template CertificateSums check_own_classes(const LinearProblem<Rows>&,                     \
                                               const DenseWeights<Rows::value_type>&,          \
                                               const Duals<Rows::value_type>&,                 \
                                               std::span<const double>);                       \
    template void predict_scores(const Rows&, const Rows::value_type*, std::size_t,            \
                                 std::ptrdiff_t, std::ptrdiff_t, const Rows::value_type*,      \
                                 Rows::value_type*, int);                                      \
    }
