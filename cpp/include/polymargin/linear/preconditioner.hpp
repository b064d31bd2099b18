// What is easy to solve with in place of the second derivative H on the free variables:
//
//     M = D + B B^T.
//
// D is H within each example, |x_i|^2 (I + rho s s^T) (machine.hpp), less what B has of it. B B^T
// is what examples share through the heaviest features (heavy_features.hpp): B^T takes a change p
// to sum_i x_ij a_i(p) for each such feature j, k numbers. Where there are many examples, it is the
// largest part of H by far. Its inverse, by Woodbury's formula, is
//
//     M^-1 = D^-1 - D^-1 B K^-1 B^T D^-1,    K = I + B^T D^-1 B.
//
// Variables that are fixed later leave D and B, but K may stay that of all: a larger K takes less
// away from D^-1, so that the whole is positive definite nevertheless.
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
#include "polymargin/linear/heavy_features.hpp"

namespace polymargin {

template <class Rows>
class Preconditioner {
public:
    using T = typename Rows::value_type;

    Preconditioner(const LinearProblem<Rows>& problem, std::span<const T> norms)
        : problem_(problem), norms_(norms), heavy_(problem) {}

    void begin(const FreeVariables<Rows>& free) {
        heavy_.choose(free);
        inverses_.clear();
        for (const FreeExample& example : free.examples()) {
            inverses_.push_back(inverse_norm(example, inverses_.size()));
        }
        factorise(free);
    }

    // For the variables that are not fixed now. None of the others may move before it is called
    // again.
    void factorise(const FreeVariables<Rows>& free) {
        if (heavy_.count() == 0) return;
        const std::size_t size = heavy_.count() * classes();
        std::vector<double> matrix(size * size);
        for (std::size_t e = 0; e < free.examples().size(); ++e) add_example(free, e, matrix);
        if (problem_.machine.zero_sum) centre(matrix, size);
        for (std::size_t at = 0; at < size; ++at) matrix[at * size + at] += 1;
        factor_ = std::make_unique<Cholesky>(std::move(matrix), size);
    }

    // step = M^-1 residual.
    void solve(const FreeVariables<Rows>& free, std::span<T> step) const {
        std::ranges::copy(free.residual, step.begin());
        const std::span examples = free.examples();
        for (std::size_t e = 0; e < examples.size(); ++e) solve_example(free, e, step);
        if (heavy_.count() == 0) return;
        std::vector<double> shared(heavy_.count() * classes());
        for (std::size_t e = 0; e < examples.size(); ++e) gather(free, e, step, shared);
        centre_slots(shared);
        factor_->solve(shared);
        centre_slots(shared);
        for (std::size_t e = 0; e < examples.size(); ++e) {
            hand_out(free, e, shared, step);
            solve_example(free, e, step);
        }
    }

private:
    std::size_t classes() const { return static_cast<std::size_t>(problem_.k); }

    // 1 / |x_e|^2 without the heavy features.
    double inverse_norm(const FreeExample& example, std::size_t e) const {
        const double whole = norms_[example.i];
        double rest = whole;
        for (const auto& [slot, x] : heavy_.of(e)) rest -= double(x) * double(x);
        return 1 / std::max(rest, 1e-3 * whole);
    }

    // (I + rho s s^T)^-1 = I - coupling s s^T.
    double coupling(int moving) const {
        const double rho = problem_.machine.rho(problem_.k);
        return rho / std::max(1 + rho * moving, 0.1);
    }

    // step <- D^-1 step among those that move.
    void solve_example(const FreeVariables<Rows>& free, std::size_t e, std::span<T> step) const {
        const FreeExample& example = free.examples()[e];
        const auto sign = [&](std::uint32_t v) {
            return !example.tied && free.classes[v] == example.y ? T(-1) : T(1);
        };
        T sum = 0;
        for (const std::uint32_t v : example.variables()) {
            if (free.fixed[v]) step[v] = 0;
            sum += sign(v) * step[v];
        }
        sum *= T(share(example));
        const T inverse = T(inverses_[e]);
        for (const std::uint32_t v : example.variables()) {
            if (!free.fixed[v]) step[v] = (step[v] - sign(v) * sum) * inverse;
        }
    }

    // Of the sum that each variable loses: all of it where the sum of the variables is kept.
    double share(const FreeExample& example) const {
        if (!example.tied) return coupling(example.moving);
        return example.moving > 0 ? 1.0 / example.moving : 0.0;
    }

    // shared += B_e^T step.
    void gather(const FreeVariables<Rows>& free, std::size_t e, std::span<const T> step,
                std::span<double> shared) const {
        const FreeExample& example = free.examples()[e];
        for (const auto& [slot, x] : heavy_.of(e)) {
            double* of_slot = shared.data() + slot * classes();
            for (const std::uint32_t v : example.variables()) {
                problem_.machine.for_each_alpha(example.y, free.classes[v],
                                                double(x) * double(step[v]),
                                                [&](std::int32_t c, double change) {
                                                    of_slot[c] += change;
                                                });
            }
        }
    }

    // step = residual - B_e shared.
    void hand_out(const FreeVariables<Rows>& free, std::size_t e, std::span<const double> shared,
                  std::span<T> step) const {
        const FreeExample& example = free.examples()[e];
        for (const std::uint32_t v : example.variables()) step[v] = free.residual[v];
        for (const auto& [slot, x] : heavy_.of(e)) {
            const double* of_slot = shared.data() + slot * classes();
            const double own = of_slot[example.y], base = problem_.machine.base(own, 0.0);
            for (const std::uint32_t v : example.variables()) {
                const std::int32_t c = free.classes[v];
                step[v] -= x * T(c == example.y ? own : base - of_slot[c]);
            }
        }
    }

    // B_e^T D_e^-1 B_e: for two of its heavy features, x_s x_t times the same small matrix
    // (sum_v nu_v nu_v^T - share u u^T) / |x_e|^2, u = sum_v s_v nu_v.
    void add_example(const FreeVariables<Rows>& free, std::size_t e, std::vector<double>& matrix) {
        const FreeExample& example = free.examples()[e];
        const std::span heavy = heavy_.of(e);
        if (example.moving == 0 || heavy.empty()) return;
        fill_small(free, example, inverses_[e]);
        const std::size_t k = classes(), size = heavy_.count() * k, count = touched_.size();
        for (const auto& [s, xs] : heavy) {
            for (const auto& [t, xt] : heavy) {
                const double product = double(xs) * double(xt);
                for (std::size_t a = 0; a < count; ++a) {
                    double* row = &matrix[(s * k + touched_[a]) * size + t * k];
                    for (std::size_t b = 0; b < count; ++b) {
                        row[touched_[b]] += product * small_[a * count + b];
                    }
                }
            }
        }
    }

    void fill_small(const FreeVariables<Rows>& free, const FreeExample& example, double inverse) {
        touched_.clear();
        const auto place = [&](std::int32_t c) {
            const auto at = std::ranges::find(touched_, c);
            if (at == touched_.end()) touched_.push_back(c);
            return static_cast<std::size_t>(at - touched_.begin());
        };
        place(example.y);
        for (const std::uint32_t v : example.variables()) {
            if (!free.fixed[v]) place(free.classes[v]);
        }
        const std::size_t count = touched_.size();
        small_.assign(count * count, 0);
        sum_.assign(count, 0);
        for (const std::uint32_t v : example.variables()) {
            if (free.fixed[v]) continue;
            std::array<std::size_t, 2> places{};
            std::array<double, 2> nu{};
            std::size_t entries = 0;
            problem_.machine.for_each_alpha(example.y, free.classes[v], 1.0,
                                            [&](std::int32_t c, double value) {
                                                places[entries] = place(c);
                                                nu[entries++] = value;
                                            });
            const bool turned = !example.tied && free.classes[v] == example.y;
            for (std::size_t a = 0; a < entries; ++a) {
                for (std::size_t b = 0; b < entries; ++b) {
                    small_[places[a] * count + places[b]] += nu[a] * nu[b] * inverse;
                }
                sum_[places[a]] += turned ? -nu[a] : nu[a];
            }
        }
        const double less = share(example) * inverse;
        for (std::size_t a = 0; a < count; ++a) {
            for (std::size_t b = 0; b < count; ++b) {
                small_[a * count + b] -= less * sum_[a] * sum_[b];
            }
        }
    }

    static void subtract_mean(std::span<double> values) {
        double mean = 0;
        for (const double v : values) mean += v;
        mean /= static_cast<double>(values.size());
        for (double& v : values) v -= mean;
    }

    // The classes of each feature, where the machine is zero-sum.
    void centre_slots(std::span<double> values) const {
        if (!problem_.machine.zero_sum) return;
        for (std::size_t at = 0; at < values.size(); at += classes()) {
            subtract_mean(values.subspan(at, classes()));
        }
    }

    // Rows and, the matrix being symmetric, columns, for each pair of features.
    void centre(std::vector<double>& matrix, std::size_t size) const {
        const std::size_t k = classes();
        std::vector<double> means(size);
        for (std::size_t block = 0; block < size; block += k) {
            std::ranges::fill(means, 0.0);
            for (std::size_t a = block; a < block + k; ++a) {
                for (std::size_t b = 0; b < size; ++b) means[b] += matrix[a * size + b] / double(k);
            }
            for (std::size_t a = block; a < block + k; ++a) {
                const std::span row = std::span(matrix).subspan(a * size, size);
                for (std::size_t b = 0; b < size; ++b) row[b] -= means[b];
                centre_slots(row);
            }
        }
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    HeavyFeatures<Rows> heavy_;
    std::vector<double> inverses_;
    std::unique_ptr<Cholesky> factor_;
    // Of an example: its classes, and what add_example has of them.
    std::vector<std::int32_t> touched_;
    std::vector<double> small_, sum_;
};

}  // namespace polymargin
