// What is easy to solve with in place of the second derivative H on the free variables:
//
//     M = D + B B^T.
//
// D is H within each example, |x_i|^2 (I + rho s s^T) (machine.hpp). B B^T is what examples share
// for certain, the constant feature: B^T takes a change p to sum_i a_i(p), k numbers. Where there
// are many examples, it is the largest part of H by far. Its inverse, by Woodbury's formula, is
//
//     M^-1 = D^-1 - D^-1 B (I + B^T D^-1 B)^-1 B^T D^-1.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polymargin/cholesky.hpp"
#include "polymargin/linear/free_variables.hpp"

namespace polymargin {

template <class Rows>
class Preconditioner {
public:
    using T = typename Rows::value_type;
    using Variable = FreeVariable<T>;

    Preconditioner(const LinearProblem<Rows>& problem, std::span<const T> norms)
        : problem_(problem), norms_(norms), is_apart_(problem.bias && problem.k <= most_classes) {}

    // For the variables that are not fixed now.
    void factorise(FreeVariables<Rows>& free) {
        if (!is_apart_) return;
        const auto k = static_cast<std::size_t>(problem_.k);
        std::vector<double> matrix(k * k), sum(k);
        for (const FreeExample& example : free.examples()) {
            if (example.moving > 0) add_example(example, free.of(example), matrix, sum);
        }
        if (problem_.machine.zero_sum) centre(matrix);
        for (std::size_t c = 0; c < k; ++c) matrix[c * k + c] += 1;
        factor_ = std::make_unique<Cholesky>(std::move(matrix), k);
    }

    // step = M^-1 residual.
    void solve(FreeVariables<Rows>& free) const {
        for (Variable& v : free.all()) v.step = v.residual;
        for (const FreeExample& example : free.examples()) {
            solve_example(example, free.of(example));
        }
        if (!is_apart_) return;
        std::vector<double> shared(problem_.k);
        for (const FreeExample& example : free.examples()) {
            for (const Variable& v : free.of(example)) {
                problem_.machine.for_each_alpha(example.y, v.c, double(v.step),
                                                [&](std::int32_t c, double change) {
                                                    shared[c] += change;
                                                });
            }
        }
        if (problem_.machine.zero_sum) subtract_mean(shared);
        factor_->solve(shared);
        if (problem_.machine.zero_sum) subtract_mean(shared);
        for (const FreeExample& example : free.examples()) {
            const double own = shared[example.y], base = problem_.machine.base(own, 0.0);
            for (Variable& v : free.of(example)) {
                v.step = v.residual - T(v.c == example.y ? own : base - shared[v.c]);
            }
            solve_example(example, free.of(example));
        }
    }

private:
    static constexpr int most_classes = 2048;

    double norm(const FreeExample& example) const {
        const double whole = norms_[example.i];
        return is_apart_ ? std::max(whole - 1, 1e-3 * whole) : whole;
    }

    // (I + rho s s^T)^-1 = I - coupling s s^T.
    double coupling(int moving) const {
        const double rho = problem_.machine.rho(problem_.k);
        return rho / std::max(1 + rho * moving, 0.1);
    }

    // step <- D^-1 step among those that move.
    void solve_example(const FreeExample& example, std::span<Variable> variables) const {
        const auto sign = [&](const Variable& v) {
            return !example.tied && v.c == example.y ? T(-1) : T(1);
        };
        T sum = 0;
        for (Variable& v : variables) {
            if (v.fixed) v.step = 0;
            sum += sign(v) * v.step;
        }
        sum *= T(share(example));
        const T inverse = T(1 / norm(example));
        for (Variable& v : variables) {
            if (!v.fixed) v.step = (v.step - sign(v) * sum) * inverse;
        }
    }

    // Of the sum that each variable loses: all of it where the sum of the variables is kept.
    double share(const FreeExample& example) const {
        if (!example.tied) return coupling(example.moving);
        return example.moving > 0 ? 1.0 / example.moving : 0.0;
    }

    // B_i^T D_i^-1 B_i = (sum_v nu_v nu_v^T - share u u^T) / |x_i|^2, u = sum_v s_v nu_v.
    void add_example(const FreeExample& example, std::span<const Variable> variables,
                     std::vector<double>& matrix, std::vector<double>& sum) {
        const auto k = static_cast<std::size_t>(problem_.k);
        const double inverse = 1 / norm(example), less = share(example) * inverse;
        touched_.clear();
        for (const Variable& v : variables) {
            if (v.fixed) continue;
            std::array<std::int32_t, 2> classes{};
            std::array<double, 2> nu{};
            std::size_t count = 0;
            problem_.machine.for_each_alpha(example.y, v.c, 1.0, [&](std::int32_t c, double value) {
                classes[count] = c;
                nu[count++] = value;
            });
            const bool turned = !example.tied && v.c == example.y;
            for (std::size_t a = 0; a < count; ++a) {
                for (std::size_t b = 0; b < count; ++b) {
                    matrix[classes[a] * k + classes[b]] += nu[a] * nu[b] * inverse;
                }
                if (sum[classes[a]] == 0) touched_.push_back(classes[a]);
                sum[classes[a]] += turned ? -nu[a] : nu[a];
            }
        }
        for (const std::int32_t a : touched_) {
            for (const std::int32_t b : touched_) matrix[a * k + b] -= less * sum[a] * sum[b];
        }
        for (const std::int32_t a : touched_) sum[a] = 0;
    }

    static void subtract_mean(std::span<double> values) {
        double mean = 0;
        for (const double v : values) mean += v;
        mean /= static_cast<double>(values.size());
        for (double& v : values) v -= mean;
    }

    // Rows and, the matrix being symmetric, columns.
    void centre(std::vector<double>& matrix) const {
        const auto k = static_cast<std::size_t>(problem_.k);
        std::vector<double> means(k);
        for (std::size_t a = 0; a < k; ++a) {
            for (std::size_t b = 0; b < k; ++b) means[b] += matrix[a * k + b] / double(k);
        }
        for (std::size_t a = 0; a < k; ++a) {
            const std::span row = std::span(matrix).subspan(a * k, k);
            for (std::size_t b = 0; b < k; ++b) row[b] -= means[b];
            subtract_mean(row);
        }
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    bool is_apart_;
    std::unique_ptr<Cholesky> factor_;
    std::vector<std::int32_t> touched_;
};

}  // namespace polymargin
