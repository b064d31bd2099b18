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
// of the bounds, and what clipping leaves of p may be of no use. A careful step goes no further at
// a time than a small part of the variables allow, fixes those at their bounds and starts anew.
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
    using Variable = FreeVariable<T>;

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
    // so, it ends with what is reached. The first one that clipping makes useless is taken again
    // with care, as all later ones are from the start. Returns the cost in visits.
    template <class Interrupted>
    double run(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples,
               double budget, Interrupted&& interrupted) {
        gather(visitor, examples);
        curvature_.begin(free_);
        passes_ = 2;
        const auto size = static_cast<double>(free_.examples().size());
        if (most_passes() * size > budget) return std::min(passes_ * size, budget);
        Along along = find_change(interrupted);
        if (can_be_careful && !is_careful_ && along.slope > 0 && along.length() < useless) {
            is_careful_ = true;
            if ((passes_ + most_passes()) * size <= budget && !interrupted()) {
                free_.reset();
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
    static constexpr int fewest = 20, most = 40;  // iterations of a round
    static constexpr std::size_t few = 50;        // one variable in so many
    static constexpr std::size_t crowd = 100;     // likewise, that a careful step fixes at a time
    static constexpr double useless = 0.1;        // length of a step
    static constexpr int trials = 5;              // of longer steps

    // The dual objective along total.
    struct Along {
        double slope, curvature;

        double length() const { return curvature > 0 ? std::min(1.0, slope / curvature) : 0; }
        double gain() const { return length() * (slope - 0.5 * length() * curvature); }
    };

    // Of H, in the next step.
    int most_products() const {
        return rounds * iterations_ + (is_careful_ ? careful_rounds : rounds) + trials + 1;
    }

    // Rounds of conjugate gradients, between which the variables that left their bounds are fixed
    // there. Where few have to be fixed and more iterations would help, the next step may take
    // twice as many.
    template <class Interrupted>
    Along find_change(Interrupted&& interrupted) {
        Solved last{};
        bool settled = false;
        int left = rounds * iterations_;
        const int count = is_careful_ ? careful_rounds : rounds;
        for (int round = 0; round < count && left > 0 && !free_.all().empty(); ++round) {
            last = conjugate_gradients(std::min(left, iterations_), interrupted);
            left -= std::max(1, last.iterations);
            const std::size_t fixed = free_.fix();
            settled = few * fixed <= free_.all().size();
            if ((fixed == 0 && !last.is_cut) || interrupted()) break;
            restart();
        }
        if (!settled) {
            iterations_ = fewest;
        } else if (!last.is_enough) {
            iterations_ = std::min(2 * iterations_, most);
        }
        free_.clip();
        return lengthen();
    }

    void gather(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples) {
        free_.clear();
        for (const std::uint32_t i : examples) {
            if (norms_[i] == 0) continue;
            visitor.prepare(i, T(0));
            free_.add(i, [&](auto&& body) { return visitor.block().for_each_free(body); });
            visitor.discard();
        }
    }

    void multiply(T Variable::* p) {
        curvature_.multiply(free_, p);
        passes_ += curvature_.visits();
    }

    struct Solved {
        int iterations = 0;
        bool is_enough = false;
        bool is_cut = false;  // short of what would fix too many variables at a time
    };

    template <class Interrupted>
    Solved conjugate_gradients(int iterations, Interrupted&& interrupted) {
        Solved solved;
        preconditioner_.factorise(free_);
        keep_feasible();
        preconditioner_.solve(free_);
        double energy = free_.inner(&Variable::residual, &Variable::step);
        for (Variable& v : free_.all()) v.direction = v.step;
        const double enough = 1e-4 * energy;
        while (solved.iterations < iterations && energy > enough && !interrupted()) {
            multiply(&Variable::direction);
            ++solved.iterations;
            const double curvature = free_.inner(&Variable::direction, &Variable::curved);
            if (!(curvature > 0)) {
                solved.is_enough = true;
                return solved;
            }
            const double whole = energy / curvature, part = is_careful_ ? cut(whole) : whole;
            const T alpha = T(part);
            for (Variable& v : free_.all()) {
                v.total += alpha * v.direction;
                v.residual -= alpha * v.curved;
            }
            if (part < whole) {
                solved.is_cut = true;
                return solved;
            }
            keep_feasible();
            preconditioner_.solve(free_);
            const double next = free_.inner(&Variable::residual, &Variable::step);
            const T beta = T(next / energy);
            energy = next;
            for (Variable& v : free_.all()) v.direction = v.step + beta * v.direction;
        }
        solved.is_enough = energy <= enough;
        return solved;
    }

    // A step along the direction that takes few variables to their bounds.
    double cut(double step) {
        constexpr int halvings = 30;
        for (int at = 0; at < halvings; ++at, step /= 2) {
            if (crowd * free_.leaving(T(step)) <= free_.all().size()) break;
        }
        return step;
    }

    // The residual of what can move: not of fixed variables, and without its mean where the sum of
    // the variables is kept.
    void keep_feasible() {
        for (const FreeExample& example : free_.examples()) {
            T mean = 0;
            for (Variable& v : free_.of(example)) {
                if (v.fixed) v.residual = 0;
                mean += v.residual;
            }
            if (!example.tied || example.moving == 0) continue;
            mean /= T(example.moving);
            for (Variable& v : free_.of(example)) {
                if (!v.fixed) v.residual -= mean;
            }
        }
    }

    // The residual at the present total.
    void restart() {
        multiply(&Variable::total);
        for (Variable& v : free_.all()) v.residual = v.gradient - v.curved;
    }

    // Moves as far along total as the dual objective rises, at most to the bounds.
    void move(const Along& along) {
        if (!(along.slope > 0) || !(along.curvature > 0)) return;
        const T step = T(along.length());
        for (Variable& v : free_.all()) v.direction = step * v.total;
        std::vector<T> row(problem_.rows.scratch_size()), alpha(simd::padded<T>(problem_.k));
        for (const FreeExample& example : free_.examples()) {
            free_.add_alphas(example, &Variable::direction, alpha);
            weights_.add(problem_.rows.row(example.i, row.data()), alpha.data(), weights_.whole());
            free_.clear_alphas(example, alpha);
            for (const Variable& v : free_.of(example)) {
                duals_.add(example.i, v.c, v.direction, step == 1 && v.total == -v.beta);
            }
        }
    }

    Along look_along() {
        multiply(&Variable::total);
        return {free_.inner(&Variable::gradient, &Variable::total),
                free_.inner(&Variable::total, &Variable::curved)};
    }

    // Where the objective still rises at the end of total, a longer one that is clipped again may
    // be better.
    Along lengthen() {
        Along along = look_along();
        std::vector<T> kept;
        for (int trial = 0; trial < trials; ++trial) {
            if (!(along.curvature > 0) || along.slope < 1.5 * along.curvature) break;
            kept.clear();
            const T factor = T(std::min(along.slope / along.curvature, 10.0));
            for (Variable& v : free_.all()) {
                kept.push_back(v.total);
                v.total *= factor;
            }
            free_.clip();
            const Along longer = look_along();
            if (longer.gain() <= 1.01 * along.gain()) {
                for (std::size_t at = 0; at < kept.size(); ++at) free_.all()[at].total = kept[at];
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
    int iterations_ = fewest;
    bool is_careful_ = false;
    double passes_ = 0;
};

}  // namespace polymargin
