// The certificate: primal and dual objective of the whole problem in double precision.
//
//     D(beta) = sum_ic t_c beta_ic - 1/2 |W|^2,  W = sum_i a_i x_i^T computed anew from beta, which
//               is first made feasible (feasible.hpp),
//     P(U)    = 1/2 |U|^2 + sum_i C_i L_i(U x_i), U = W rounded to the working precision, centred
//               where the machine is zero-sum: the weights that are returned.
//
// P >= min P = max D >= D whatever happened before, stale reads and rounding errors included.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "polymargin/example_check.hpp"
#include "polymargin/feasible.hpp"
#include "polymargin/linear/kernels.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

// W[j * stride + c - first] += sum_i a_ic x_ij for the classes first <= c < last.
template <class Rows, class T>
void add_weights(const LinearProblem<Rows>& problem, const Duals<T>& duals, std::size_t first,
                 std::size_t last, double* W, std::size_t stride) {
    constexpr std::size_t lookahead = 8;
    const std::size_t n = problem.size();
    std::vector<double> dense(problem.k);
    std::vector<T> scratch(problem.rows.scratch_size());
    double* bias = W + (problem.weight_rows() - 1) * stride;
    for (std::size_t i = 0; i < n; ++i) {
        if (i + lookahead < n) duals.prefetch_contents(i + lookahead);
        const std::int32_t y = problem.labels[i];
        bool loaded = false;
        auto x = decltype(problem.rows.row(i, scratch.data())){};
        for_each_alpha(problem.machine, duals, i, y, problem.upper[i], first, last, dense,
                       [&](std::int32_t c, double a) {
                           if (!loaded) x = problem.rows.row(i, scratch.data());
                           loaded = true;
                           double* column = W + (c - first);
                           for (std::size_t p = 0; p < x.size(); ++p) {
                               column[x.index(p) * stride] += a * x.value(p);
                           }
                           if (problem.bias) bias[c - first] += a;
                       });
    }
}

// Recomputes the weights from beta in double; returns |W|^2. In single precision a slice of
// classes at a time, so that the memory for it stays small.
template <class Rows, class T>
double refresh_weights(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                       Weights<T>& weights, int threads) {
    const std::size_t d = problem.weight_rows(), k = problem.k;
    constexpr bool in_place = std::is_same_v<T, double>;
    const std::size_t small = duals.flat() ? (d + problem.size()) * k / 16 : d * k / 4;
    const std::size_t numbers = std::max<std::size_t>(small, 1 << 16) / threads;
    const std::size_t most = in_place ? (k + threads - 1) / threads : numbers / d;
    const std::size_t width = std::clamp<std::size_t>(most, 1, k);
    const std::size_t slices = (k + width - 1) / width;
    std::vector<double> norms(slices);
    parallel_for(threads, slices, [&](std::size_t slice) {
        const std::size_t first = slice * width, last = std::min(k, first + width);
        CompensatedSum norm;
        std::vector<double> buffer(in_place ? 0 : d * (last - first));
        if constexpr (in_place) {
            weights.clear(first, last);
            add_weights(problem, duals, first, last, weights.row(0) + first, weights.stride());
        } else {
            add_weights(problem, duals, first, last, buffer.data(), last - first);
        }
        for (std::size_t j = 0; j < d; ++j) {
            double sum = 0;
            T* u = weights.row(j);
            for (std::size_t c = first; c < last; ++c) {
                const double w = in_place ? u[c] : buffer[j * (last - first) + (c - first)];
                sum += w * w;
                if (u[c] != T(w)) u[c] = T(w);
            }
            norm += sum;
        }
        norms[slice] = norm.value();
    });
    CompensatedSum total;
    for (const double norm : norms) total += norm;
    return total.value();
}

// What examples add to the two objectives.
struct ExampleSums {
    CompensatedSum loss, margins;  // C_i L_i(U x_i), sum_c t_c beta_ic
    double violation = 0;

    void add(const ExampleSums& other) {
        loss += other.loss.value();
        margins += other.margins.value();
        violation = std::max(violation, other.violation);
    }

    // With the squared norms of U and of W.
    Certificate certificate(double norm_U, double norm_W) const {
        CompensatedSum primal, dual;
        primal += 0.5 * norm_U;
        primal += loss.value();
        dual += margins.value();
        dual += -0.5 * norm_W;
        return {primal.value(), dual.value(), violation};
    }
};

// Of the examples first <= i < last; the weights are centred where the machine is zero-sum.
template <class Rows, class T>
ExampleSums sum_examples(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                         const Weights<T>& weights, std::size_t first, std::size_t last) {
    // A bound that the working precision misses by rounding counts as reached.
    const double rounded = 1 - 64 * double(std::numeric_limits<T>::epsilon());
    ExampleCheck check(problem.machine, problem.k, rounded);
    std::vector<T> scratch(problem.rows.scratch_size());
    ExampleSums sums;
    for (std::size_t i = first; i < last; ++i) {
        const auto x = problem.rows.row(i, scratch.data());
        kernels::scores_in_double(x, weights, problem.bias, check.scores());
        const auto outcome = check(duals, i, problem.labels[i], problem.upper[i]);
        sums.loss += outcome.loss;
        sums.margins += outcome.margin_sum;
        sums.violation = std::max(sums.violation, outcome.violation);
    }
    return sums;
}

template <class Rows, class T>
Certificate certify(const LinearProblem<Rows>& problem, const Duals<T>& duals, Weights<T>& weights,
                    int threads) {
    const double norm = refresh_weights(problem, duals, weights, threads);
    const std::size_t n = problem.size();
    const std::size_t parts = std::min<std::size_t>(n, threads > 1 ? 8 * threads : 1);
    std::vector<ExampleSums> sums(parts);
    parallel_for(threads, parts, [&](std::size_t part) {
        sums[part] =
            sum_examples(problem, duals, weights, n * part / parts, n * (part + 1) / parts);
    });
    ExampleSums total;
    for (const ExampleSums& part : sums) total.add(part);
    return total.certificate(weights.squared_norm(false), norm);
}

// The certificate of weights U that stay as they are while the examples pass by once, a part at a
// time: W needs a matrix of its own.
class PassingCertificate {
public:
    PassingCertificate(std::size_t features, std::size_t classes) : W_(features, classes) {}

    template <class Rows, class T>
    void add(const LinearProblem<Rows>& part, const Duals<T>& duals, const Weights<T>& weights) {
        add_weights(part, duals, 0, part.k, W_.row(0), W_.stride());
        sums_.add(sum_examples(part, duals, weights, 0, part.size()));
    }

    template <class T>
    Certificate at(const Weights<T>& weights) const {
        return sums_.certificate(weights.squared_norm(false), W_.squared_norm(false));
    }

private:
    Weights<double> W_;
    ExampleSums sums_;
};

}  // namespace polymargin
