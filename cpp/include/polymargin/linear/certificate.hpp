// The certificate: primal and dual objective of the whole problem in double precision.
//
//     D(beta) = sum_ic t_c beta_ic - 1/2 |W|^2,  W = sum_i a_i x_i^T computed anew from beta, which
//               is first made feasible (single precision oversteps bounds by a rounding error),
//     P(U)    = 1/2 |U|^2 + sum_i C_i L_i(U x_i), U = W rounded to the working precision, centred
//               where the machine is zero-sum: the weights that are returned.
//
// P >= min P = max D >= D whatever happened before, stale reads and rounding errors included.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/linear/kernels.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

struct Certificate {
    double primal, dual, violation;
    // Relative; a difference that rounding has made negative is 0.
    double gap() const { return primal > dual ? (primal - dual) / primal : 0; }
};

// One example's dual variables in double, inside their box or simplex.
class FeasibleRow {
public:
    FeasibleRow(const Machine& machine, int k) : machine_(machine), beta_(k) {}

    template <class T>
    void read(const Duals<T>& duals, std::size_t i, std::int32_t y, double C) {
        for (const auto& entry : entries_) beta_[entry.c] = 0;
        entries_.clear();
        double sum = 0;
        duals.for_each(i, [&](std::int32_t c, T value) {
            const double weight = c == y ? machine_.weight_own : machine_.weight_other;
            const double upper = machine_.simplex() ? C : C * weight;
            const double beta = std::clamp(double(value), 0.0, upper);
            sum += beta;
            entries_.push_back({c, beta});
        });
        const double scale = machine_.simplex() && sum > C ? C / sum : 1;
        total_ = sum * scale;
        for (auto& entry : entries_) beta_[entry.c] = entry.value *= scale;
    }

    const std::vector<DualEntry<double>>& entries() const { return entries_; }
    const std::vector<double>& beta() const { return beta_; }
    double total() const { return total_; }

    // Calls body(c, a_c) for the non-zero entries of a = sum_c beta_c nu_c with first <= c < last;
    // a is centred where the machine is zero-sum.
    template <class Body>
    void for_each_alpha(std::int32_t y, std::size_t first, std::size_t last, Body&& body) const {
        const auto offer = [&](std::int32_t c, double a) {
            if (std::size_t(c) >= first && std::size_t(c) < last) body(c, a);
        };
        if (machine_.zero_sum) {
            const double own = beta_[y], k = static_cast<double>(beta_.size());
            const double mean = (own - (total_ - own)) / k;
            for (std::size_t c = first; c < last; ++c) {
                body(static_cast<std::int32_t>(c), (int(c) == y ? own : -beta_[c]) - mean);
            }
            return;
        }
        for (const auto& [c, beta] : entries_) {
            offer(c, !machine_.relative && c == y ? beta : -beta);
        }
        if (machine_.relative && total_ != 0) offer(y, total_);
    }

private:
    const Machine& machine_;
    std::vector<double> beta_;
    std::vector<DualEntry<double>> entries_;
    double total_ = 0;
};

// Recomputes the weights from beta in double, a slice of classes at a time so that the memory for
// it stays small; returns |W|^2.
template <class Rows, class T>
double refresh_weights(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                       Weights<T>& weights, int threads) {
    const std::size_t d = problem.weight_rows(), k = problem.k;
    const auto scatter = [&](std::size_t first, std::size_t last, auto&& add) {
        FeasibleRow row(problem.machine, problem.k);
        std::vector<T> scratch(problem.rows.scratch_size());
        for (std::size_t i = 0; i < problem.size(); ++i) {
            const std::int32_t y = problem.labels[i];
            row.read(duals, i, y, problem.upper[i]);
            if (row.total() == 0) continue;
            const auto x = problem.rows.row(i, scratch.data());
            row.for_each_alpha(y, first, last, [&](std::int32_t c, double a) {
                for (std::size_t p = 0; p < x.size(); ++p) add(x.index(p), c, a * x.value(p));
                if (problem.bias) add(d - 1, c, a);
            });
        }
    };
    const std::size_t budget = std::max<std::size_t>(d * k / 16, 1 << 16) / threads;
    const std::size_t width = std::clamp<std::size_t>(budget / std::max<std::size_t>(d, 1), 1, k);
    const std::size_t slices = (k + width - 1) / width;
    std::vector<double> norms(slices);
    parallel_for(threads, slices, [&](std::size_t slice) {
        const std::size_t first = slice * width, last = std::min(k, first + width);
        std::vector<double> W(d * (last - first));
        scatter(first, last, [&](std::size_t j, std::int32_t c, double term) {
            W[j * (last - first) + (c - first)] += term;
        });
        CompensatedSum norm;
        for (std::size_t j = 0; j < d; ++j) {
            double sum = 0;
            for (std::size_t c = first; c < last; ++c) {
                const double w = W[j * (last - first) + (c - first)];
                sum += w * w;
                T& u = weights.row(j)[c];
                if (u != T(w)) u = T(w);
            }
            norm += sum;
        }
        norms[slice] = norm.value();
    });
    CompensatedSum total;
    for (const double norm : norms) total += norm;
    return total.value();
}

// Loss and optimality of one example, from its scores in double.
struct ExampleCheck {
    double loss, margin_sum, violation;
};

inline ExampleCheck check_example(const Machine& machine, int k, std::int32_t y, double C,
                                  const std::vector<double>& f, const FeasibleRow& row,
                                  double rounded) {
    double margin_sum = 0, top = 0, sum = 0, worst = 0;
    double lowest = row.total() < C * rounded ? 0 : std::numeric_limits<double>::infinity();
    const double own_margin = machine.own_margin(k);
    for (int c = 0; c < k; ++c) {
        if (!(c == y ? machine.has_own : machine.has_others)) continue;
        const double t = c == y ? own_margin : Machine::other_margin;
        const double g = c == y ? t - f[y] : t + f[c] - (machine.relative ? f[y] : 0);
        const double beta = row.beta()[c];
        const double weight = c == y ? machine.weight_own : machine.weight_other;
        margin_sum += t * beta;
        sum += weight * std::max(0.0, g);
        top = std::max(top, g);
        if (beta > 0) lowest = std::min(lowest, g);
        if (g > 0 && beta < C * weight * rounded) worst = std::max(worst, g);
        if (g < 0 && beta > 0) worst = std::max(worst, -g);
    }
    if (!machine.simplex()) return {C * sum, margin_sum, worst};
    return {C * top, margin_sum, std::max(0.0, top - lowest)};
}

template <class Rows, class T>
Certificate certify(const LinearProblem<Rows>& problem, const Duals<T>& duals, Weights<T>& weights,
                    int threads) {
    const double norm = refresh_weights(problem, duals, weights, threads);
    const std::size_t n = problem.size(), k = problem.k;
    struct Part {
        CompensatedSum loss, margins;
        double violation = 0;
    };
    // A bound that the working precision misses by rounding counts as reached.
    const double rounded = 1 - 64 * double(std::numeric_limits<T>::epsilon());
    const std::size_t parts = std::min<std::size_t>(n, threads > 1 ? 8 * threads : 1);
    std::vector<Part> sums(parts);
    parallel_for(threads, parts, [&](std::size_t part) {
        FeasibleRow row(problem.machine, problem.k);
        std::vector<double> f(k);
        std::vector<T> scratch(problem.rows.scratch_size());
        for (std::size_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
            const std::int32_t y = problem.labels[i];
            const auto x = problem.rows.row(i, scratch.data());
            kernels::scores_in_double(x, weights, problem.bias, f.data());
            row.read(duals, i, y, problem.upper[i]);
            const ExampleCheck check =
                check_example(problem.machine, problem.k, y, problem.upper[i], f, row, rounded);
            sums[part].loss += check.loss;
            sums[part].margins += check.margin_sum;
            sums[part].violation = std::max(sums[part].violation, check.violation);
        }
    });
    CompensatedSum primal, dual;
    double violation = 0;
    for (std::size_t j = 0; j < weights.features(); ++j) {
        double square = 0;
        const T* u = weights.row(j);
        for (std::size_t c = 0; c < k; ++c) square += double(u[c]) * u[c];
        primal += 0.5 * square;
    }
    for (const Part& part : sums) {
        primal += part.loss.value();
        dual += part.margins.value();
        violation = std::max(violation, part.violation);
    }
    dual += -0.5 * norm;
    return {primal.value(), dual.value(), violation};
}

}  // namespace polymargin
