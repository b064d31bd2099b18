// Small random problems, dense in single and sparse in double precision, and the objectives of
// a problem written down a second time, as plainly as possible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "harness.hpp"
#include "polymargin/linear/train.hpp"
#include "polymargin/machines/registry.hpp"
#include "polymargin/random.hpp"
#include "store.hpp"

namespace polymargin::testing {

using Dense = DenseRows<float>;
using Sparse = SparseRows<double, std::int32_t>;

struct Shape {
    std::size_t n = 60, d = 6;
    int k = 5;
    double C = 0.1;
    bool bias = true;
    std::uint64_t seed = 1;
    std::size_t zero_rows = 0;
    double density = 0.7;
};

// Overlapping classes around random centres.
class Data {
public:
    explicit Data(const Shape& shape) : shape(shape), upper(shape.n, shape.C) {
        Random random(shape.seed);
        const auto [n, d, k, C, bias, seed, zero_rows, density] = shape;
        std::vector<double> centres(k * d);
        for (double& value : centres) value = normal(random);
        labels.resize(n);
        values.resize(n * d);
        for (std::size_t i = 0; i < n; ++i) {
            labels[i] = static_cast<std::int32_t>(i % k);
            for (std::size_t j = 0; j < d; ++j) {
                const bool drop = i < zero_rows || random.below(1000) >= 1000 * density;
                const double value = centres[labels[i] * d + j] + normal(random);
                values[i * d + j] = drop ? 0.0f : static_cast<float>(value);
            }
        }
        offsets.push_back(0);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < d; ++j) {
                if (values[i * d + j] == 0) continue;
                indices.push_back(static_cast<std::int32_t>(j));
                entries.push_back(values[i * d + j]);
            }
            offsets.push_back(static_cast<std::int32_t>(indices.size()));
        }
        for (std::size_t i = 0; i < n; ++i) {
            double norm = 0;
            for (std::size_t j = 0; j < d; ++j) norm += std::pow(double(values[i * d + j]), 2);
            norms.push_back(norm);
        }
    }

    template <class Rows>
    Rows rows() const;

    template <class Rows>
    LinearProblem<Rows> problem(const Rows& view, const Machine& machine) const {
        return {view, norms, labels, upper, shape.k, machine, shape.bias};
    }

    Shape shape;
    std::vector<float> values;  // n x d
    std::vector<double> entries;
    std::vector<std::int32_t> indices, offsets, labels;
    std::vector<double> upper, norms;

private:
    // Near enough: the sum of four uniform variables.
    static double normal(Random& random) {
        double sum = 0;
        for (int part = 0; part < 4; ++part) sum += random.below(1u << 20) / double(1u << 20);
        return (sum - 2) * 1.7320508075688772;
    }
};

template <>
inline Dense Data::rows<Dense>() const {
    const auto d = static_cast<std::ptrdiff_t>(shape.d);
    return {values.data(), shape.n, shape.d, d, 1};
}

template <>
inline Sparse Data::rows<Sparse>() const {
    return {entries.data(), indices.data(), offsets.data(), shape.n, shape.d};
}

inline LinearOptions tight() { return {.goal = {.tol = 1e-6, .max_iter = 100'000}}; }

// What a fit leaves behind.
template <class Rows>
struct Fit {
    using T = typename Rows::value_type;
    Duals<T> duals;
    Store<T> weights;
    LinearOutcome outcome{};

    explicit Fit(const LinearProblem<Rows>& problem)
        : duals(problem.size(), problem.k), weights(problem.template weights<Store<T>>()) {}
};

template <class Rows>
Fit<Rows> fit(const LinearProblem<Rows>& problem, const LinearOptions& options,
              const Observer& observer = {}) {
    Fit<Rows> result(problem);
    result.outcome = train(problem, options, result.duals, result.weights, observer);
    return result;
}

// f_c(x_i) for all c, in double.
template <class Rows, class T>
std::vector<double> scores_of(const LinearProblem<Rows>& problem, const std::vector<T>& weights,
                              std::size_t i) {
    std::vector<double> f(problem.k);
    std::vector<typename Rows::value_type> scratch(problem.rows.scratch_size());
    const auto row = problem.rows.row(i, scratch.data());
    for (int c = 0; c < problem.k; ++c) {
        const auto w = [&](std::size_t j) { return double(weights[j * problem.k + c]); };
        for (std::size_t p = 0; p < row.size(); ++p) f[c] += double(row.value(p)) * w(row.index(p));
        if (problem.bias) f[c] += w(problem.features() - 1);
    }
    return f;
}

// 1/2 |W|^2 + sum_i C_i L_i(W x_i); the weights must be centred where the machine is zero-sum.
template <class Rows, class T>
double primal_of(const LinearProblem<Rows>& problem, const std::vector<T>& weights) {
    const Machine& machine = problem.machine;
    double objective = 0;
    for (const T w : weights) objective += 0.5 * double(w) * double(w);
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const std::vector<double> f = scores_of(problem, weights, i);
        const std::int32_t y = problem.labels[i];
        double sum = 0, top = 0;
        for (int c = 0; c < problem.k; ++c) {
            if (c == y ? !machine.has_own : !machine.has_others) continue;
            const double margin = c == y ? f[y] : machine.relative ? f[y] - f[c] : -f[c];
            const double target = c == y ? machine.own_margin(problem.k) : Machine::other_margin;
            const double hinge = std::max(0.0, target - margin);
            sum += hinge * (c == y ? machine.weight_own : machine.weight_other);
            top = std::max(top, hinge);
        }
        objective += problem.upper[i] * (machine.simplex() ? top : sum);
    }
    return objective;
}

// sum_ic t_c beta_ic - 1/2 |W(beta)|^2.
template <class Rows, class T>
double dual_of(const LinearProblem<Rows>& problem, const Duals<T>& duals) {
    const Machine& machine = problem.machine;
    const std::size_t d = problem.features();
    const auto k = static_cast<std::size_t>(problem.k);
    std::vector<double> W(d * k);
    std::vector<T> scratch(problem.rows.scratch_size());
    double objective = 0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const std::int32_t y = problem.labels[i];
        const auto row = problem.rows.row(i, scratch.data());
        duals.for_each(i, [&](std::int32_t c, T beta) {
            objective += beta * (c == y ? machine.own_margin(problem.k) : Machine::other_margin);
            const auto add = [&](std::int32_t to, double factor) {
                for (std::size_t p = 0; p < row.size(); ++p) {
                    W[row.index(p) * k + to] += factor * double(row.value(p));
                }
                if (problem.bias) W[(d - 1) * k + to] += factor;
            };
            if (c == y) {
                add(y, beta);
            } else {
                add(c, -double(beta));
                if (machine.relative) add(y, beta);
            }
        });
    }
    for (std::size_t j = 0; j < d; ++j) {
        double mean = 0;
        for (std::size_t c = 0; c < k; ++c) mean += W[j * k + c] / static_cast<double>(k);
        for (std::size_t c = 0; c < k; ++c) {
            const double w = W[j * k + c] - (machine.zero_sum ? mean : 0);
            objective -= 0.5 * w * w;
        }
    }
    return objective;
}

// Whether all dual variables lie in their box or simplex, but for rounding.
template <class Rows, class T>
bool feasible(const LinearProblem<Rows>& problem, const Duals<T>& duals) {
    constexpr double rounding = sizeof(T) == 4 ? 1e-4 : 1e-10;
    const Machine& machine = problem.machine;
    bool inside = true;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        double sum = 0;
        const double C = problem.upper[i];
        duals.for_each(i, [&](std::int32_t c, T beta) {
            const bool own = c == problem.labels[i];
            const double weight = own ? machine.weight_own : machine.weight_other;
            inside &= own ? machine.has_own : machine.has_others;
            inside &= beta >= 0;
            inside &= beta <= (machine.simplex() ? C : C * weight) * (1 + rounding);
            sum += beta;
        });
        if (machine.simplex()) inside &= sum <= C * (1 + rounding);
    }
    return inside;
}

// The fit ended on a certificate of at most `tol`, and the certificate is true. Single precision
// oversteps bounds by a rounding error, so the dual variables are cut before they are used.
template <class Rows>
void check_optimal(const LinearProblem<Rows>& problem, const Fit<Rows>& result, double tol) {
    using T = typename Rows::value_type;
    const Certificate& certificate = result.outcome.certificate;
    CHECK_AT_MOST(certificate.gap(), tol);
    CHECK(result.outcome.converged);
    CHECK(feasible(problem, result.duals));
    Duals<T> cut(problem.size(), problem.k);
    clip_into(result.duals, problem, cut);
    CHECK_CLOSE(primal_of(problem, result.weights.packed()), certificate.primal, 1e-10);
    CHECK_CLOSE(dual_of(problem, cut), certificate.dual, sizeof(T) == 4 ? 1e-6 : 1e-10);
}

// Calls body(rows) for both kinds.
template <class Body>
void for_both_kinds(const Data& data, Body&& body) {
    body(data.rows<Dense>());
    body(data.rows<Sparse>());
}

inline std::string describe(const Machine& machine, const Shape& shape, bool sparse) {
    std::ostringstream text;
    text << machine.name << (sparse ? ", sparse double" : ", dense float") << ", n=" << shape.n
         << ", k=" << shape.k << ", C=" << shape.C << (shape.bias ? ", bias" : "");
    return text.str();
}

}  // namespace polymargin::testing
