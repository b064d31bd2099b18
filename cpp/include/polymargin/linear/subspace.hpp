// A step of second order: conjugate gradients on the free dual variables of the active examples.
//
// Once the bounds are nearly identified, coordinate descent crawls along the flat directions of
//
//     max_p  g^T p - 1/2 p^T H p
//
// p over the variables strictly between their bounds (in a full simplex those with beta > 0, their
// sum kept), H p as in curvature.hpp, preconditioned as in preconditioner.hpp. The result is
// clipped to the bounds, and an exact line search between the old point and the clipped one keeps
// the dual objective from falling. More and Toraldo (1991), with blocks.
//
// Examples that contradict each other make H nearly singular: conjugate gradients then run far out
// of the bounds, and what clipping leaves of p may be of no use. Two things help. A variable that
// was fixed at a bound on the way is released where the gradient points inside again: one at the
// wrong bound shortens the line search for all others. (Where many variables of an example are free
// and steps are good as they are, as on images, that costs more than it gains.) And a careful step
// goes no further at a time than a small part of the variables allow, then only so far on the way
// there as the objective rises once it is clipped, fixes those at their bounds and starts anew. A
// few variables far beyond their bounds would else undo the gain of all: clipped, they pull the
// constant feature, which all examples share, out of balance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/linear/curvature.hpp"
#include "polymargin/linear/free_variables.hpp"
#include "polymargin/linear/preconditioner.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/visitor.hpp"
#include "polymargin/linear/weights/store.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class SubspaceStep {
public:
    using T = typename Rows::value_type;
    using Vector = std::vector<T>;

    SubspaceStep(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
                 Store& weights, int threads)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          weights_(weights),
          free_(problem),
          curvature_(problem, threads),
          preconditioner_(problem, norms) {}

    // At most, of the next step, were it like the last one.
    double most_passes() const {
        if (!can_be_careful) return rounds * (iterations_ + 1) + 8;
        return 2 + most_products() * curvature_.visits();
    }

    // A step over the given examples that takes at most `budget` visits; where `interrupted` says
    // so, it ends with what is reached. One that clipping makes useless is taken again with care,
    // as later ones are from the start. Returns the cost in visits.
    template <class Interrupted>
    double run(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples,
               double budget, Interrupted&& interrupted) {
        gather(visitor, examples);
        curvature_.begin(free_);
        passes_ = 2;
        const auto size = static_cast<double>(free_.examples().size());
        if (most_passes() * size > budget) return std::min(passes_ * size, budget);
        preconditioner_.begin(free_);
        Along along = find_change(interrupted);
        if (can_be_careful && !is_careful_ && along.slope > 0 && along.length() < useless) {
            is_careful_ = true;
            if ((passes_ + most_passes()) * size <= budget && !interrupted()) {
                free_.reset();
                preconditioner_.factorise(free_);
                along = find_change(interrupted);
            }
        }
        move(along);
        return passes_ * size;
    }

private:
    // Dense rows are few features: products cost as much as visits, and care does not pay.
    static constexpr bool can_be_careful = Rows::is_sparse;
    static constexpr int rounds = 4, careful_rounds = 40;
    // Iterations of a round, at most once few variables have to be fixed, or very few.
    static constexpr int fewest = 20, most = 40, most_calm = 160;
    static constexpr double cheap = 0.5;  // a product, in visits
    // Iterations of a careful step, and the passes that they may take.
    static constexpr double least_careful = 160, most_careful = 1280, careful_passes = 120;
    static constexpr std::size_t few = 50, very_few = 1000;  // one variable in so many
    // Likewise, that a careful step takes to their bounds at a time: more after a good round.
    static constexpr double crowd = 100, least_crowd = 6.25, bolder = 1.5;
    static constexpr double useless = 0.5, good = 0.9;  // length of a step
    static constexpr int trials = 5;                    // of longer steps
    static constexpr int halvings = 9;                  // of a careful round
    static constexpr double kept_promise = 0.25;        // likewise, of its gain

    // The dual objective along total.
    struct Along {
        double slope, curvature;

        double length() const { return curvature > 0 ? std::min(1.0, slope / curvature) : 0; }
        double gain() const { return length() * (slope - 0.5 * length() * curvature); }
        double whole_gain() const { return slope - 0.5 * curvature; }  // at the end
    };

    // Of H, in the next step.
    int most_products() const {
        return iterations() + (is_careful_ ? careful_rounds + halvings : rounds) + trials + 1;
    }

    // At most, of the next step.
    int iterations() const {
        if (!is_careful_) return rounds * iterations_;
        return static_cast<int>(
            std::clamp(careful_passes / curvature_.visits(), least_careful, most_careful));
    }

    // Rounds of conjugate gradients, between which the variables that left their bounds are fixed
    // there. Where few have to be fixed and more iterations would help, the next step may take
    // twice as many.
    template <class Interrupted>
    Along find_change(Interrupted&& interrupted) {
        Solved last{};
        bool settled = false, calm = false;
        int left = iterations();
        const int count = is_careful_ ? careful_rounds : rounds;
        const int longest = is_careful_ ? left / rounds : iterations_;
        double reached = 0;  // of the dual objective
        for (int round = 0; round < count && left > 0 && free_.size() > 0; ++round) {
            if (is_careful_) start_ = free_.total;
            last = conjugate_gradients(std::min(left, longest), interrupted);
            left -= std::max(1, last.iterations);
            if (is_careful_) {
                const int halved = shorten(last.gain, reached);
                if (halved > halvings) break;
                left -= halved;
            }
            const std::size_t fixed = free_.fix();
            settled = few * fixed <= free_.size();
            calm = very_few * fixed <= free_.size();
            if ((fixed == 0 && !last.is_cut) || interrupted()) break;
            if (!is_careful_) multiply(free_.total);  // else it was the last that was tried
            restart();
        }
        if (!settled) {
            iterations_ = fewest;
        } else if (!last.is_enough) {
            const bool may_be_long = calm && can_be_careful && curvature_.visits() < cheap;
            iterations_ = std::min(2 * iterations_, may_be_long ? most_calm : most);
        }
        free_.clip();
        return lengthen();
    }

    // Goes from where a round started towards where it would go, half as far at each trial, until
    // the objective rises there once clipped, from `reached`, by a part of what the round promises.
    // The next round may be bolder, or less so. Returns how often it was halved; one time too many
    // where it went nowhere.
    int shorten(double promise, double& reached) {
        end_ = free_.total;
        double part = 1;
        for (int halved = 0; halved <= halvings; ++halved, part /= 2) {
            if (halved > 0) {
                for (std::size_t v = 0; v < free_.size(); ++v) {
                    free_.total[v] = start_[v] + T(part) * (end_[v] - start_[v]);
                }
            }
            free_.clip();
            multiply(free_.total);
            const double now = rise().whole_gain();
            if (now < reached + kept_promise * part * promise) continue;
            reached = now;
            crowd_ = halved == 0 ? std::max(crowd_ / bolder, least_crowd)
                                 : std::min(crowd_ * bolder, crowd);
            return halved;
        }
        free_.total = start_;
        crowd_ = crowd;
        return halvings + 1;
    }

    void gather(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples) {
        free_.clear();
        for (const std::uint32_t i : examples) {
            if (norms_[i] == 0) continue;
            visitor.prepare(i, T(0));
            free_.add(i, [&](auto&& body) { return visitor.block().for_each_free(body); });
            visitor.discard();
        }
        free_.arrange();
        for (Vector* vector : {&step_, &direction_, &curved_}) vector->resize(free_.size());
    }

    // curved = H p.
    void multiply(const Vector& p) {
        curvature_.multiply(free_, p, curved_);
        passes_ += curvature_.visits();
    }

    static double inner(const Vector& a, const Vector& b) {
        double sum = 0;
        for (std::size_t v = 0; v < a.size(); ++v) sum += double(a[v]) * double(b[v]);
        return sum;
    }

    struct Solved {
        int iterations = 0;
        double gain = 0;  // of the dual objective, were there no bounds
        bool is_enough = false;
        bool is_cut = false;  // short of what would fix too many variables at a time
    };

    template <class Interrupted>
    Solved conjugate_gradients(int iterations, Interrupted&& interrupted) {
        Solved solved;
        keep_feasible();
        preconditioner_.solve(free_, step_);
        double energy = inner(free_.residual, step_);
        direction_ = step_;
        const double enough = 1e-4 * energy;
        while (solved.iterations < iterations && energy > enough && !interrupted()) {
            multiply(direction_);
            ++solved.iterations;
            const double curvature = inner(direction_, curved_);
            if (!(curvature > 0)) {
                solved.is_enough = true;
                return solved;
            }
            const double whole = energy / curvature, part = is_careful_ ? cut(whole) : whole;
            const T alpha = T(part);
            solved.gain += part * (energy - 0.5 * part * curvature);
            for (std::size_t v = 0; v < free_.size(); ++v) {
                free_.total[v] += alpha * direction_[v];
                free_.residual[v] -= alpha * curved_[v];
            }
            if (part < whole) {
                solved.is_cut = true;
                return solved;
            }
            keep_feasible();
            preconditioner_.solve(free_, step_);
            const double next = inner(free_.residual, step_);
            const T beta = T(next / energy);
            energy = next;
            for (std::size_t v = 0; v < free_.size(); ++v) {
                direction_[v] = step_[v] + beta * direction_[v];
            }
        }
        solved.is_enough = energy <= enough;
        return solved;
    }

    // A step along the direction that takes few variables to their bounds.
    double cut(double step) {
        constexpr int halvings = 30;
        for (int at = 0; at < halvings; ++at, step /= 2) {
            if (crowd_ * double(free_.leaving(T(step), direction_)) <= double(free_.size())) break;
        }
        return step;
    }

    // The residual of what can move: not of fixed variables, and without its mean where the sum of
    // the variables is kept.
    void keep_feasible() {
        for (const FreeExample& example : free_.examples()) {
            T mean = 0;
            for (const std::uint32_t v : example.variables()) {
                if (free_.fixed[v]) free_.residual[v] = 0;
                mean += free_.residual[v];
            }
            if (!example.tied || example.moving == 0) continue;
            mean /= T(example.moving);
            for (const std::uint32_t v : example.variables()) {
                if (!free_.fixed[v]) free_.residual[v] -= mean;
            }
        }
    }

    // Where few variables of an example are free, or care is needed.
    bool may_release() const { return curvature_.visits() < 1 || is_careful_; }

    // The residual at the present total, of which curved is the product.
    void restart() {
        for (std::size_t v = 0; v < free_.size(); ++v) {
            free_.residual[v] = free_.gradient[v] - curved_[v];
        }
        if (!may_release()) {
            preconditioner_.factorise(free_);
        } else if (rise().length() < good) {
            free_.release();
        }
    }

    // Moves as far along total as the dual objective rises, at most to the bounds.
    void move(const Along& along) {
        if (!(along.slope > 0) || !(along.curvature > 0)) return;
        const T step = T(along.length());
        for (std::size_t v = 0; v < free_.size(); ++v) direction_[v] = step * free_.total[v];
        std::vector<T> row(problem_.rows.scratch_size()), alpha(simd::padded<T>(problem_.k));
        for (const FreeExample& example : free_.examples()) {
            free_.add_alphas(example, direction_, alpha);
            weights_.add(problem_.rows.row(example.i, row.data()), alpha.data(), weights_.whole());
            free_.clear_alphas(example, alpha);
            for (const std::uint32_t v : example.variables()) {
                duals_.add(example.i, free_.classes[v], direction_[v],
                           step == 1 && free_.total[v] == -free_.beta[v]);
            }
        }
    }

    // Once curved is H total.
    Along rise() const { return {inner(free_.gradient, free_.total), inner(free_.total, curved_)}; }

    Along look_along() {
        multiply(free_.total);
        return rise();
    }

    // Where the objective still rises at the end of total, a longer one that is clipped again may
    // be better.
    Along lengthen() {
        Along along = look_along();
        Vector kept;
        for (int trial = 0; trial < trials; ++trial) {
            if (!(along.curvature > 0) || along.slope < 1.5 * along.curvature) break;
            kept = free_.total;
            const T factor = T(std::min(along.slope / along.curvature, 10.0));
            for (T& change : free_.total) change *= factor;
            free_.clip();
            const Along longer = look_along();
            if (longer.gain() <= 1.01 * along.gain()) {
                free_.total = kept;
                break;
            }
            along = longer;
        }
        return along;
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    Store& weights_;
    FreeVariables<Rows> free_;
    std::conditional_t<Rows::is_sparse, ColumnCurvature<Rows>, RowCurvature<Rows>> curvature_;
    Preconditioner<Rows> preconditioner_;
    Vector step_, direction_, curved_;  // of conjugate gradients
    int iterations_ = fewest;
    bool is_careful_ = false;
    double crowd_ = crowd;
    Vector start_, end_;  // of a careful round
    double passes_ = 0;
};

}  // namespace polymargin
