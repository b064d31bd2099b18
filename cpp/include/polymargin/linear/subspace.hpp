// A step of second order: conjugate gradients on the free dual variables of the active examples.
//
// Once the bounds are nearly identified, coordinate descent crawls along the flat directions of
//
//     max_p  g^T p - 1/2 |V(p)|^2,    V(p) = sum_i x_i (sum_c p_ic nu_c)^T,
//
// p over the variables strictly between their bounds (in a full simplex those with beta > 0, their
// sum kept). H p costs what a sweep costs: scores under V, and the residual that follows from them
// is gathered into the next V while the row is at hand. The result is clipped to the bounds, and an
// exact line search between the old point and the clipped one keeps the dual objective from
// falling. More and Toraldo (1991), with blocks.
//
// V and what the threads gather for the next one are matrices like the weights: this needs a dense
// store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/visitor.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

template <class Rows, DenseStore Store>
class SubspaceStep {
public:
    using T = typename Rows::value_type;

    SubspaceStep(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
                 Store& weights, int threads)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          weights_(weights),
          direction_weights_(problem.template weights<Store>()) {
        for (int t = 0; t < threads; ++t) workers_.emplace_back(problem);
    }

    static constexpr int most_passes = 90;

    // Rounds of conjugate gradients over the given examples; between rounds the variables that
    // left their bounds are fixed there. Where `interrupted` says so, ends with what is reached.
    // Returns the cost in visits.
    template <class Interrupted>
    double run(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples,
               Interrupted&& interrupted) {
        constexpr int steps = 20;
        gather(visitor, examples);
        passes_ = 1;
        while (!entries_.empty() && passes_ + steps + 3 < most_passes) {
            conjugate_gradients(steps, interrupted);
            if (fix() == 0 || interrupted()) break;
            restart();
        }
        clip();
        search();
        return passes_ * static_cast<double>(examples_.size());
    }

private:
    // What a thread needs of its own.
    struct Worker {
        explicit Worker(const LinearProblem<Rows>& problem)
            : gathered(problem.template weights<Store>()),
              row(problem.rows.scratch_size()),
              scores(simd::padded<T>(problem.k)),
              delta(simd::padded<T>(problem.k)) {}

        Store gathered;  // its part of the next V
        std::vector<T> row, scores, delta;
        double sum = 0;
    };

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

    void gather(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples) {
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

    // Calls body(worker, example) for all examples and adds up what it returns.
    template <class Body>
    double for_all(Body&& body) {
        const std::size_t threads = crew_for(examples_.size(), workers_.size());
        crew_ = std::span(workers_).first(threads);
        run_crew(threads, [&](std::size_t t) {
            Worker& worker = workers_[t];
            worker.gathered.clear();
            worker.sum = 0;
            const std::size_t first = examples_.size() * t / threads;
            const std::size_t last = examples_.size() * (t + 1) / threads;
            for (std::size_t e = first; e < last; ++e) worker.sum += body(worker, examples_[e]);
        });
        passes_ += 1;
        double sum = 0;
        for (const Worker& worker : crew_) sum += worker.sum;
        return sum;
    }

    // V <- keep V + what the workers gathered.
    void turn(T keep) {
        if (keep == 0) {
            direction_weights_.clear();
        } else {
            direction_weights_.scale(keep);
        }
        for (const Worker& worker : crew_) direction_weights_.add(1, worker.gathered);
    }

    // Preconditioned by 1/|x_i|^2.
    template <class Interrupted>
    void conjugate_gradients(int steps, Interrupted&& interrupted) {
        double energy = for_all([&](Worker& worker, const Example& example) {
            centre(example);
            double part = 0;
            for (Entry& e : entries_of(example)) {
                e.direction = e.residual / norms_[example.i];
                part += double(e.direction) * e.residual;
            }
            spread(worker, example, [](const Entry& e) { return e.direction; });
            return part;
        });
        turn(0);
        const double enough = 1e-4 * energy;
        for (int step = 0; step < steps && energy > enough && !interrupted(); ++step) {
            const double curvature = squared_norm();
            if (!(curvature > 0)) break;
            const T alpha = T(energy / curvature);
            const double next = for_all([&](Worker& worker, const Example& example) {
                curve(worker, example, alpha);
                centre(example);
                const T inverse = 1 / norms_[example.i];
                double part = 0;
                for (const Entry& e : entries_of(example)) {
                    part += double(e.residual) * e.residual * inverse;
                }
                spread(worker, example, [&](const Entry& e) { return e.residual * inverse; });
                return part;
            });
            const T beta = T(next / energy);
            energy = next;
            for (const Example& example : examples_) {
                const T inverse = 1 / norms_[example.i];
                for (Entry& e : entries_of(example)) {
                    e.direction = e.residual * inverse + beta * e.direction;
                }
            }
            turn(beta);
        }
    }

    // total += alpha p, residual -= alpha H p for one example.
    void curve(Worker& worker, const Example& example, T alpha) {
        const auto row = problem_.rows.row(example.i, worker.row.data());
        std::vector<T>& scores = worker.scores;
        direction_weights_.scores(row, scores.data());
        const Machine& machine = problem_.machine;
        const std::int32_t y = problem_.labels[example.i];
        T mean = 0;
        if (machine.zero_sum) {
            for (int c = 0; c < problem_.k; ++c) mean += scores[c];
            mean /= T(problem_.k);
        }
        const T base = machine.base(scores[y], mean);
        for (Entry& e : entries_of(example)) {
            const T v = e.c == y ? scores[y] - mean : base - scores[e.c];
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
        return T(
            problem_.machine.upper(e.c == problem_.labels[example.i], problem_.upper[example.i]));
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
        direction_to_total();
        for_all([&](Worker& worker, const Example& example) {
            for (Entry& e : entries_of(example)) {
                e.residual = e.gradient;
                e.direction = 0;
            }
            curve(worker, example, T(1));
            for (Entry& e : entries_of(example)) {
                if (e.fixed) e.residual = 0;
            }
            return 0.0;
        });
    }

    // V = sum_i x_i (sum_c total_ic nu_c)^T.
    void direction_to_total() {
        for_all([&](Worker& worker, const Example& example) {
            spread(worker, example, [](const Entry& e) { return e.total; });
            return 0.0;
        });
        turn(0);
    }

    // gathered += x_i (sum_c value_ic nu_c)^T.
    template <class Value>
    void spread(Worker& worker, const Example& example, Value&& value) {
        const std::int32_t y = problem_.labels[example.i];
        std::vector<T>& delta = worker.delta;
        for (const Entry& e : entries_of(example)) {
            problem_.machine.for_each_alpha(y, e.c, value(e),
                                            [&](std::int32_t c, T change) { delta[c] += change; });
        }
        const auto row = problem_.rows.row(example.i, worker.row.data());
        worker.gathered.add(row, delta.data(), worker.gathered.whole());
        for (const Entry& e : entries_of(example)) delta[e.c] = 0;
        delta[y] = 0;
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
        direction_to_total();
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
    Store& weights_;
    Store direction_weights_;  // V
    std::vector<Example> examples_;
    std::vector<Entry> entries_;
    std::vector<Worker> workers_;
    std::span<Worker> crew_;  // those of the last pass
    double passes_ = 0;
};

}  // namespace polymargin
