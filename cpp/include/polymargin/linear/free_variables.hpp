// The dual variables strictly between their bounds, example by example, and a change of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

#include "polymargin/linear/problem.hpp"

namespace polymargin {

struct FreeExample {
    std::uint32_t i;
    std::int32_t y;
    std::uint32_t first, last;  // of its variables
    int moving;                 // those that are not fixed
    bool tied;                  // sum_c beta_c = C: directions sum to 0
    bool started_tied;          // before any change

    auto variables() const { return std::views::iota(first, last); }
    std::uint32_t size() const { return last - first; }
};

template <class Rows>
class FreeVariables {
public:
    using T = typename Rows::value_type;
    using Vector = std::vector<T>;

    explicit FreeVariables(const LinearProblem<Rows>& problem) : problem_(problem) {}

    std::span<const FreeExample> examples() const { return examples_; }
    std::size_t size() const { return classes.size(); }

    // One of each for a variable.
    std::vector<std::int32_t> classes;
    Vector beta, gradient;
    Vector total;                     // the change so far
    Vector residual;                  // of the gradient after it
    std::vector<std::uint8_t> fixed;  // at a bound, which the change has reached

    void clear() {
        examples_.clear();
        resize(0);
    }

    // `for_each(body)` calls body(c, beta, gradient) and says whether the sum is at its bound.
    template <class ForEach>
    void add(std::uint32_t i, ForEach&& for_each) {
        const auto first = static_cast<std::uint32_t>(size());
        const bool tied = for_each([&](std::int32_t c, T value, T slope) {
            classes.push_back(c);
            beta.push_back(value);
            gradient.push_back(slope);
        });
        const auto last = static_cast<std::uint32_t>(size());
        if (last - first < (tied ? 2u : 1u)) {
            resize(first);
            return;
        }
        examples_.push_back(
            {i, problem_.labels[i], first, last, static_cast<int>(last - first), tied, tied});
    }

    // To be called once all are there. Of sparse rows, examples with as many variables follow each
    // other then, so that the ends of loops over them are foreseen.
    void arrange() {
        if constexpr (Rows::is_sparse) sort_by_size();
        reset();
    }

    // No change yet, or none any more.
    void reset() {
        total.assign(size(), T(0));
        values_.resize(size());
        residual = gradient;
        fixed.assign(size(), false);
        for (FreeExample& example : examples_) {
            example.moving = static_cast<int>(example.size());
            example.tied = example.started_tied;
        }
    }

    // How many would be at their bounds or beyond after a further step along the direction.
    std::size_t leaving(T step, const Vector& direction) const {
        std::size_t count = 0;
        for (const FreeExample& example : examples_) {
            T sum = 0;
            for (const std::uint32_t v : example.variables()) {
                const T value = beta[v] + total[v] + step * direction[v];
                count += !fixed[v] && !(value > 0 && value < upper(example, v));
                sum += value;
            }
            count += is_overfull(example, sum);
        }
        return count;
    }

    // Fixes the variables that the change takes to their bounds or beyond and, of sparse rows, sums
    // that it takes beyond C; returns their number.
    std::size_t fix() {
        std::size_t count = 0;
        for (FreeExample& example : examples_) {
            for (const std::uint32_t v : example.variables()) {
                if (fixed[v]) continue;
                const T value = beta[v] + total[v], bound = upper(example, v);
                if (value > 0 && value < bound * (1 - rounding)) continue;
                total[v] = (value <= 0 ? T(0) : bound) - beta[v];
                fixed[v] = true;
                --example.moving;
                ++count;
            }
            if (Rows::is_sparse) count += tie(example);
        }
        return count;
    }

    // Lets variables move again whose residual points away from the bound they are fixed at, and
    // sums that the change has taken to C.
    void release() {
        for (FreeExample& example : examples_) {
            T mean = 0;  // of what moves, where the sum is kept
            if (example.tied && example.moving > 0) {
                for (const std::uint32_t v : example.variables()) {
                    if (!fixed[v]) mean += residual[v] / T(example.moving);
                }
            }
            if (mean < 0 && !example.started_tied) {
                example.tied = false;
                mean = 0;
            }
            for (const std::uint32_t v : example.variables()) {
                const bool at_zero = total[v] == -beta[v];
                if (!fixed[v] || (at_zero ? residual[v] <= mean : residual[v] >= mean)) continue;
                fixed[v] = false;
                ++example.moving;
            }
        }
    }

    // The change becomes the nearest one that stays inside the bounds.
    void clip() {
        for (const FreeExample& example : examples_) {
            T sum = 0;
            for (const std::uint32_t v : example.variables()) {
                values_[v] = std::clamp(beta[v] + total[v], T(0), upper(example, v));
                sum += values_[v];
            }
            if (problem_.machine.simplex()) lower(example, sum - T(problem_.upper[example.i]));
            for (const std::uint32_t v : example.variables()) total[v] = values_[v] - beta[v];
        }
    }

    // alpha += sum_v p_v nu_v of an example, and the other way.
    void add_alphas(const FreeExample& example, std::span<const T> p, std::span<T> alpha) const {
        for (const std::uint32_t v : example.variables()) {
            problem_.machine.for_each_alpha(example.y, classes[v], p[v],
                                            [&](std::int32_t c, T change) { alpha[c] += change; });
        }
    }
    void clear_alphas(const FreeExample& example, std::span<T> alpha) const {
        for (const std::uint32_t v : example.variables()) alpha[classes[v]] = 0;
        alpha[example.y] = 0;
    }

private:
    void sort_by_size() {
        std::ranges::stable_sort(examples_, {}, &FreeExample::size);
        const FreeVariables before = *this;
        std::uint32_t next = 0;
        for (FreeExample& example : examples_) {
            const std::uint32_t first = next;
            for (const std::uint32_t v : example.variables()) {
                classes[next] = before.classes[v];
                beta[next] = before.beta[v];
                gradient[next++] = before.gradient[v];
            }
            example.first = first;
            example.last = next;
        }
    }

    void resize(std::size_t count) {
        classes.resize(count);
        beta.resize(count);
        gradient.resize(count);
    }

    // Lowers the values of an example by one number, those that would be negative to zero, until
    // their sum is less by `excess`.
    void lower(const FreeExample& example, T excess) {
        while (excess > 0) {
            T count = 0, rest = 0;
            for (const std::uint32_t v : example.variables()) count += values_[v] > 0;
            const T by = excess / count;
            for (const std::uint32_t v : example.variables()) {
                if (values_[v] <= 0) continue;
                rest += std::max(T(0), by - values_[v]);
                values_[v] = std::max(T(0), values_[v] - by);
            }
            excess = rest;
        }
    }

    bool is_overfull(const FreeExample& example, T sum) const {
        return problem_.machine.simplex() && !example.tied && sum > T(problem_.upper[example.i]);
    }

    // Makes a sum beyond C one of C, which is kept from then on; says whether it was beyond.
    bool tie(FreeExample& example) {
        T sum = 0;
        for (const std::uint32_t v : example.variables()) sum += beta[v] + total[v];
        if (!is_overfull(example, sum)) return false;
        const T scale = T(problem_.upper[example.i]) / sum;
        for (const std::uint32_t v : example.variables()) {
            total[v] = (beta[v] + total[v]) * scale - beta[v];
        }
        example.tied = true;
        return true;
    }

    T upper(const FreeExample& example, std::uint32_t v) const {
        return T(problem_.machine.upper(classes[v] == example.y, problem_.upper[example.i]));
    }

    static constexpr T rounding = 4 * std::numeric_limits<T>::epsilon();

    const LinearProblem<Rows>& problem_;
    std::vector<FreeExample> examples_;
    Vector values_;  // of the variables, once clipped
};

}  // namespace polymargin
