// A step of second order: conjugate gradients on the free dual variables of the active examples.
//
// Once the bounds are nearly identified, coordinate descent crawls along the flat directions of
//
//     max_p  g^T p - 1/2 |V(p)|^2,    V(p) = sum_i x_i (sum_c p_ic nu_c)^T,
//
// p over the variables strictly between their bounds (in a full simplex those with beta > 0, their
// sum kept). H p costs what a sweep costs: scores under V, then V from the new direction. The
// result is clipped to the bounds, and an exact line search between the old point and the clipped
// one keeps the dual objective from falling. More and Toraldo (1991), with blocks.
#pragma once

#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/linear/kernels.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/visitor.hpp"
#include "polymargin/linear/weights.hpp"

namespace polymargin {

template <class Rows>
class SubspaceStep {
public:
    using T = typename Rows::value_type;

    SubspaceStep(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
                 Weights<T>& weights)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          weights_(weights),
          direction_weights_(problem.weight_rows(), problem.k),
          scratch_(problem.rows.scratch_size()),
          scores_(weights.stride()),
          delta_(weights.stride()) {}

    static constexpr int most_passes = 90;

    // Rounds of conjugate gradients over the given examples; between rounds the variables that
    // left their bounds are fixed there. Returns the cost in visits.
    double run(Visitor<Rows>& visitor, std::span<const std::uint32_t> examples) {
        constexpr int steps = 20;
        gather(visitor, examples);
        passes_ = 1;
        while (!entries_.empty() && passes_ + steps + 3 < most_passes) {
            conjugate_gradients(steps);
            if (fix() == 0) break;
            restart();
        }
        clip();
        search();
        return passes_ * static_cast<double>(examples_.size());
    }

private:
    struct Example {
        std::uint32_t i;
        std::uint32_t first, last;  // of its entries
        bool tied;                  // sum_c beta_c = C: directions sum to 0
    };
    struct Entry {
        std::int32_t c;
        T beta, gradient, total, residual, direction;
        bool fixed;
    };

    std::span<Entry> entries_of(const Example& example) {
        return std::span(entries_).subspan(example.first, example.last - example.first);
    }

    void gather(Visitor<Rows>& visitor, std::span<const std::uint32_t> examples) {
        examples_.clear();
        entries_.clear();
        for (const std::uint32_t i : examples) {
            if (norms_[i] == 0) continue;
            visitor.prepare(i, T(0));
            const auto first = static_cast<std::uint32_t>(entries_.size());
            const bool tied = visitor.block().for_each_free([&](std::int32_t c, T beta, T g) {
                entries_.push_back({c, beta, g, 0, g, 0, false});
            });
            visitor.discard();
            if (entries_.size() - first < (tied ? 2u : 1u)) {
                entries_.resize(first);
                continue;
            }
            examples_.push_back({i, first, static_cast<std::uint32_t>(entries_.size()), tied});
        }
    }

    // Preconditioned by 1/|x_i|^2.
    void conjugate_gradients(int steps) {
        double energy = 0;  // r^T M^-1 r
        for (const Example& example : examples_) {
            centre(example);
            for (Entry& e : entries_of(example)) {
                e.direction = e.residual / norms_[example.i];
                energy += double(e.direction) * e.residual;
            }
        }
        direction_weights_.clear();
        spread([](const Entry& e) { return e.direction; });
        const double enough = 1e-4 * energy;
        for (int step = 0; step < steps && energy > enough; ++step) {
            const double curvature = squared_norm();
            if (!(curvature > 0)) break;
            const T alpha = T(energy / curvature);
            double next = 0;
            for (const Example& example : examples_) {
                curve(example, alpha);
                centre(example);
                const T inverse = 1 / norms_[example.i];
                for (const Entry& e : entries_of(example)) {
                    next += double(e.residual) * e.residual * inverse;
                }
            }
            const T beta = T(next / energy);
            energy = next;
            if (step + 1 == steps) break;
            direction_weights_.scale(beta);
            for (const Example& example : examples_) {
                const T inverse = 1 / norms_[example.i];
                for (Entry& e : entries_of(example)) {
                    e.direction = e.residual * inverse + beta * e.direction;
                }
            }
            spread([&, this](const Entry& e) { return e.residual; }, true);
        }
    }

    // total += alpha p, residual -= alpha H p for one example.
    void curve(const Example& example, T alpha) {
        const auto row = problem_.rows.row(example.i, scratch_.data());
        const T* bias =
            problem_.bias ? direction_weights_.row(direction_weights_.features() - 1) : nullptr;
        kernels::scores(row, direction_weights_, bias, scores_.data());
        const Machine& machine = problem_.machine;
        const std::int32_t y = problem_.labels[example.i];
        T base = 0;  // nu_c^T v = base - v_c, nu_y^T v = v_y - base
        if (machine.relative) {
            base = scores_[y];
        } else if (machine.zero_sum) {
            for (int c = 0; c < problem_.k; ++c) base += scores_[c];
            base /= T(problem_.k);
        }
        for (Entry& e : entries_of(example)) {
            const T v = e.c == y ? scores_[y] - base : base - scores_[e.c];
            e.total += alpha * e.direction;
            e.residual = e.fixed ? 0 : e.residual - alpha * v;
        }
    }

    void centre(const Example& example) {
        if (!example.tied) return;
        T mean = 0;
        int count = 0;
        for (const Entry& e : entries_of(example)) {
            if (!e.fixed) mean += e.residual, ++count;
        }
        if (count) mean /= T(count);
        for (Entry& e : entries_of(example)) e.residual = e.fixed ? 0 : e.residual - mean;
    }

    T upper(const Example& example, const Entry& e) const {
        const Machine& machine = problem_.machine;
        const double C = problem_.upper[example.i];
        if (machine.simplex()) return T(C);
        const bool own = e.c == problem_.labels[example.i];
        return T(C * (own ? machine.weight_own : machine.weight_other));
    }

    // Fixes the variables that left their bounds; returns their number.
    int fix() {
        int fixed = 0;
        for (const Example& example : examples_) {
            for (Entry& e : entries_of(example)) {
                if (e.fixed) continue;
                const T value = e.beta + e.total;
                const T bound = upper(example, e);
                if (value > 0 && value < bound) continue;
                e.total = (value <= 0 ? T(0) : bound) - e.beta;
                e.fixed = true;
                ++fixed;
            }
        }
        return fixed;
    }

    // The residual at the present total.
    void restart() {
        direction_weights_.clear();
        spread([](const Entry& e) { return e.total; });
        for (const Example& example : examples_) {
            for (Entry& e : entries_of(example)) {
                e.residual = e.gradient;
                e.direction = 0;
            }
            curve(example, T(1));
            for (Entry& e : entries_of(example))
                if (e.fixed) e.residual = 0;
        }
    }

    // V += sum_i x_i (sum_c value_ic nu_c)^T, each example scaled by 1/|x_i|^2 if asked.
    template <class Value>
    void spread(Value&& value, bool preconditioned = false) {
        const bool relative = problem_.machine.relative;
        passes_ += 1;
        for (const Example& example : examples_) {
            const std::int32_t y = problem_.labels[example.i];
            const T scale = preconditioned ? 1 / norms_[example.i] : T(1);
            T own = 0;
            for (const Entry& e : entries_of(example)) {
                const T v = value(e) * scale;
                if (relative || e.c == y) own += v;
                if (e.c != y) delta_[e.c] = -v;
            }
            delta_[y] = own;
            const auto row = problem_.rows.row(example.i, scratch_.data());
            kernels::add_outer(row, delta_.data(), direction_weights_);
            if (problem_.bias) {
                T* u = direction_weights_.row(direction_weights_.features() - 1);
                for (int c = 0; c < problem_.k; ++c) u[c] += delta_[c];
            }
            for (const Entry& e : entries_of(example)) delta_[e.c] = 0;
            delta_[y] = 0;
        }
    }

    // |V|^2, centred over classes where the machine is zero-sum.
    double squared_norm() const {
        return direction_weights_.squared_norm(problem_.machine.zero_sum);
    }

    // total becomes the change that stays inside the bounds.
    void clip() {
        const Machine& machine = problem_.machine;
        for (const Example& example : examples_) {
            const double C = problem_.upper[example.i];
            T sum = 0;
            for (Entry& e : entries_of(example)) {
                e.total = std::clamp(e.beta + e.total, T(0), upper(example, e));
                sum += e.total;
            }
            const T scale = machine.simplex() && sum > T(C) ? T(C) / sum : T(1);
            for (Entry& e : entries_of(example)) e.total = e.total * scale - e.beta;
        }
    }

    // Moves as far along total as the dual objective rises.
    void search() {
        double slope = 0;
        for (const Entry& e : entries_) slope += double(e.gradient) * e.total;
        direction_weights_.clear();
        spread([](const Entry& e) { return e.total; });
        const double curvature = squared_norm();
        if (!(slope > 0) || !(curvature > 0)) return;
        const T step = T(std::min(1.0, slope / curvature));
        weights_.add(step, direction_weights_);
        for (const Example& example : examples_) {
            for (const Entry& e : entries_of(example)) {
                duals_.add(example.i, e.c, step * e.total, step == 1 && e.total == -e.beta);
            }
        }
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    Weights<T>& weights_;
    Weights<T> direction_weights_;  // V
    std::vector<Example> examples_;
    std::vector<Entry> entries_;
    std::vector<T> scratch_, scores_, delta_;
    double passes_ = 0;
};

}  // namespace polymargin
