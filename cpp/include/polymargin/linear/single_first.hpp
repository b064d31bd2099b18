// A fit in double from zero whose sweeps begin in single precision.
//
// Sweeps wait for weights, and a gap of 1e-3 needs none of the digits that single precision lacks:
// what converges there takes as many passes, of numbers half as long. Rows stay where they are, a
// value is rounded each time that it is read. The dual variables then go on in double, in which
// they are certified; where rounding has kept some of the gap up, descent goes on from there.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "polymargin/feasible.hpp"
#include "polymargin/fit/observer.hpp"
#include "polymargin/linear/block_descent.hpp"
#include "polymargin/linear/weights/dense.hpp"

namespace polymargin {

// A sparse row of doubles, each of which is rounded when it is read.
template <class Row>
struct RoundedRow {
    using value_type = float;
    Row row{};

    std::size_t size() const { return row.size(); }
    std::size_t index(std::size_t p) const { return row.index(p); }
    float value(std::size_t p) const { return static_cast<float>(row.value(p)); }
};

template <class Rows>
class RoundedRows {
public:
    using value_type = float;
    using Row = RoundedRow<RowOf<Rows>>;
    static constexpr bool is_sparse = true;

    explicit RoundedRows(const Rows& rows) : rows_(rows) {}

    std::size_t size() const { return rows_.size(); }
    std::size_t features() const { return rows_.features(); }
    std::size_t scratch_size() const { return 0; }
    Row row(std::size_t i, float*) const { return {rows_.row(i, nullptr)}; }

    [[gnu::always_inline]] void prefetch(std::size_t i) const { rows_.prefetch(i); }
    [[gnu::always_inline]] void prefetch_contents(std::size_t i) const {
        rows_.prefetch_contents(i);
    }

private:
    const Rows& rows_;
};

template <class Rows>
class SingleFirst {
public:
    using Weights = DenseWeights<double>;

    SingleFirst(const LinearProblem<Rows>& problem, const LinearOptions& options,
                Duals<double>& duals, Weights& weights, const Observer& observer)
        : problem_(problem),
          options_(options),
          duals_(duals),
          weights_(weights),
          observer_(observer) {}

    // Whether single precision reaches the goal, and there are so many numbers that it saves time.
    static bool pays(const LinearProblem<Rows>& problem, const LinearOptions& options) {
        const Goal& goal = options.goal;
        const std::size_t numbers = (problem.features() + problem.size()) * problem.k;
        return static_cast<double>(numbers) >= options.single_from && goal.by_gap() &&
               goal.tol >= least_tol && !goal.record_passes && goal.max_iter >= least_passes &&
               is_in_range(problem);
    }

    LinearOutcome run() {
        const RoundedRows<Rows> rows(problem_.rows);
        const LinearProblem<RoundedRows<Rows>> rounded{
            rows,       problem_.norms,   problem_.labels, problem_.upper,
            problem_.k, problem_.machine, problem_.bias};
        typename BlockDescent<Rows, Weights>::Earlier earlier;
        {
            auto weights = rounded.template weights<DenseWeights<float>>();
            Duals<float> duals(problem_.size(), problem_.k);
            const auto hand_over = [&] { clip_into(duals, problem_, duals_); };
            const Observer observer = watched(hand_over);
            LinearOptions options = options_;
            options.goal.max_iter /= 2;
            options.certified_later = true;
            BlockDescent<RoundedRows<Rows>, DenseWeights<float>> descent(rounded, options, duals,
                                                                         weights, observer);
            descent.run();
            hand_over();
            earlier = {descent.visits(), descent.seconds(), stopped_};
            if (descent.has_other_weights()) earlier.weights.emplace(weights.in_double());
        }
        return BlockDescent<Rows, Weights>(problem_, options_, duals_, weights_, observer_,
                                           std::move(earlier))
            .run();
    }

private:
    static constexpr double least_tol = 5e-4;  // below, rounding slows the end
    static constexpr std::int64_t least_passes = 20;
    static constexpr double longest = 1e12;  // |x| and C, and what is not 0

    static bool is_in_range(const LinearProblem<Rows>& problem) {
        for (std::size_t i = 0; i < problem.size(); ++i) {
            const double length = std::sqrt(problem.norms[i]), C = problem.upper[i];
            if (length > longest || (length > 0 && length < 1 / longest)) return false;
            if (C > longest || C < 1 / longest) return false;
        }
        return true;
    }

    // Who looks at the fit at a check finds the dual variables as they are.
    template <class HandOver>
    Observer watched(const HandOver& hand_over) {
        Observer observer;
        if (observer_.on_check) {
            observer.on_check = [&](const Record& record) {
                hand_over();
                return stopped_ = observer_.on_check(record) || stopped_;
            };
        }
        if (observer_.interrupted) {
            observer.interrupted = [&] { return stopped_ = observer_.interrupted() || stopped_; };
        }
        return observer;
    }

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    Duals<double>& duals_;
    Weights& weights_;
    const Observer& observer_;
    bool stopped_ = false;
};

}  // namespace polymargin
