// The dual variables strictly between their bounds, example by example, and a change of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/linear/problem.hpp"

namespace polymargin {

template <class T>
struct FreeVariable {
    std::int32_t c;
    T beta, gradient;
    T total = 0;  // the change so far
    T residual;   // of the gradient after it
    T step = 0, direction = 0;
    T curved = 0;        // H times a change
    bool fixed = false;  // at a bound, which the change has reached
};

struct FreeExample {
    std::uint32_t i;
    std::int32_t y;
    std::uint32_t first, last;  // of its variables
    int moving;                 // those that are not fixed
    bool tied;                  // sum_c beta_c = C: directions sum to 0
    bool started_tied;          // before any change
};

template <class Rows>
class FreeVariables {
public:
    using T = typename Rows::value_type;
    using Variable = FreeVariable<T>;

    explicit FreeVariables(const LinearProblem<Rows>& problem) : problem_(problem) {}

    std::span<const FreeExample> examples() const { return examples_; }
    std::span<Variable> all() { return variables_; }
    std::span<Variable> of(const FreeExample& example) {
        return std::span(variables_).subspan(example.first, example.last - example.first);
    }

    void clear() {
        examples_.clear();
        variables_.clear();
    }

    // `for_each(body)` calls body(c, beta, gradient) and says whether the sum is at its bound.
    template <class ForEach>
    void add(std::uint32_t i, ForEach&& for_each) {
        const auto first = static_cast<std::uint32_t>(variables_.size());
        const bool tied = for_each([&](std::int32_t c, T beta, T gradient) {
            variables_.push_back(
                {.c = c, .beta = beta, .gradient = gradient, .residual = gradient});
        });
        const auto last = static_cast<std::uint32_t>(variables_.size());
        if (last - first < (tied ? 2u : 1u)) {
            variables_.resize(first);
            return;
        }
        examples_.push_back(
            {i, problem_.labels[i], first, last, static_cast<int>(last - first), tied, tied});
    }

    // Takes the change back.
    void reset() {
        for (FreeExample& example : examples_) {
            example.moving = static_cast<int>(example.last - example.first);
            example.tied = example.started_tied;
            for (Variable& v : of(example)) {
                v.total = 0;
                v.residual = v.gradient;
                v.fixed = false;
            }
        }
    }

    // How many would be at their bounds or beyond after a further step along the direction.
    std::size_t leaving(T step) {
        std::size_t count = 0;
        for (const FreeExample& example : examples_) {
            T sum = 0;
            for (const Variable& v : of(example)) {
                const T value = v.beta + v.total + step * v.direction;
                count += !v.fixed && !(value > 0 && value < upper(example, v));
                sum += value;
            }
            count += is_overfull(example, sum);
        }
        return count;
    }

    // Fixes the variables that the change takes to their bounds or beyond and, of sparse rows, sums
    // that it takes beyond C; returns their number.
    std::size_t fix() {
        std::size_t fixed = 0;
        for (FreeExample& example : examples_) {
            for (Variable& v : of(example)) {
                if (v.fixed) continue;
                const T value = v.beta + v.total, bound = upper(example, v);
                if (value > 0 && value < bound) continue;
                v.total = (value <= 0 ? T(0) : bound) - v.beta;
                v.fixed = true;
                --example.moving;
                ++fixed;
            }
            if (Rows::is_sparse) fixed += tie(example);
        }
        return fixed;
    }

    // The change becomes one that stays inside the bounds.
    void clip() {
        for (const FreeExample& example : examples_) {
            const T C = T(problem_.upper[example.i]);
            T sum = 0;
            for (Variable& v : of(example)) {
                v.total = std::clamp(v.beta + v.total, T(0), upper(example, v));
                sum += v.total;
            }
            const T scale = problem_.machine.simplex() && sum > C ? C / sum : T(1);
            for (Variable& v : of(example)) v.total = v.total * scale - v.beta;
        }
    }

    // Sum of the products of two members.
    double inner(T Variable::* a, T Variable::* b) const {
        double sum = 0;
        for (const Variable& v : variables_) sum += double(v.*a) * double(v.*b);
        return sum;
    }

    // alpha += sum_c p_c nu_c of an example, p being a member, and the other way.
    void add_alphas(const FreeExample& example, T Variable::* p, std::span<T> alpha) {
        for (const Variable& v : of(example)) {
            problem_.machine.for_each_alpha(example.y, v.c, v.*p,
                                            [&](std::int32_t c, T change) { alpha[c] += change; });
        }
    }
    void clear_alphas(const FreeExample& example, std::span<T> alpha) {
        for (const Variable& v : of(example)) alpha[v.c] = 0;
        alpha[example.y] = 0;
    }

private:
    bool is_overfull(const FreeExample& example, T sum) const {
        return problem_.machine.simplex() && !example.tied && sum > T(problem_.upper[example.i]);
    }

    // Makes a sum beyond C one of C, which is kept from then on; says whether it was beyond.
    bool tie(FreeExample& example) {
        T sum = 0;
        for (const Variable& v : of(example)) sum += v.beta + v.total;
        if (!is_overfull(example, sum)) return false;
        const T scale = T(problem_.upper[example.i]) / sum;
        for (Variable& v : of(example)) v.total = (v.beta + v.total) * scale - v.beta;
        example.tied = true;
        return true;
    }

    T upper(const FreeExample& example, const Variable& v) const {
        return T(problem_.machine.upper(v.c == example.y, problem_.upper[example.i]));
    }

    const LinearProblem<Rows>& problem_;
    std::vector<FreeExample> examples_;
    std::vector<Variable> variables_;
};

}  // namespace polymargin
