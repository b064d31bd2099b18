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
// of the bounds, and what clipping leaves of p may be of no use. After such a step, or after many,
// sparse rows solve with H + I/sigma in place of H, as Levenberg and Marquardt do. sigma is C at
// first, for p = C then costs a gradient of 1; it is smaller after a step of which the line search
// left little, and larger after one that was good as a whole.
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
    double most_passes() const { return 2 + most_products() * curvature_.visits(); }

    // A step over the given examples that takes at most `budget` visits; where `interrupted` says
    // so, it ends with what is reached. Returns the cost in visits.
    template <class Interrupted>
    double run(Visitor<Rows, Store>& visitor, std::span<const std::uint32_t> examples,
               double budget, Interrupted&& interrupted) {
        gather(visitor, examples);
        curvature_.begin(free_);
        passes_ = 2;
        const auto size = static_cast<double>(free_.examples().size());
        if (most_passes() * size > budget) return std::min(passes_ * size, budget);
        const Along along = find_change(interrupted);
        adapt(along.length());
        move(along);
        return passes_ * size;
    }

private:
    // Dense rows are few features, which leave few directions without curvature.
    static constexpr bool can_be_damped = Rows::is_sparse;
    static constexpr int rounds = 4;
    static constexpr int fewest = 20, most = 40, most_damped = 160;  // iterations of a round
    static constexpr std::size_t few = 50;                           // one variable in so many
    static constexpr int many = 4;                                   // steps
    static constexpr int trials = 5;                                 // of longer steps

    // The dual objective along total.
    struct Along {
        double slope, curvature;

        double length() const { return curvature > 0 ? std::min(1.0, slope / curvature) : 0; }
        double gain() const { return length() * (slope - 0.5 * length() * curvature); }
    };

    // Of H, in the next step.
    int most_products() const { return rounds * (iterations_ + 1) + trials + 1; }

    // Rounds of conjugate gradients, between which the variables that left their bounds are fixed
    // there. Where few have to be fixed and more iterations would help, the next step may take
    // twice as many.
    template <class Interrupted>
    Along find_change(Interrupted&& interrupted) {
        Solved last{};
        bool settled = false;
        int left = rounds * iterations_;
        for (int round = 0; round < rounds && left > 0 && !free_.all().empty(); ++round) {
            last = conjugate_gradients(std::min(left, iterations_), interrupted);
            left -= std::max(1, last.iterations);
            const std::size_t fixed = free_.fix();
            settled = few * fixed <= free_.all().size();
            if (fixed == 0 || interrupted()) break;
            restart();
        }
        if (!settled) {
            iterations_ = fewest;
        } else if (!last.is_enough) {
            iterations_ = std::min(2 * iterations_, damping_ > 0 ? most_damped : most);
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
        if (Rows::is_sparse) free_.sort_by_size();
    }

    void multiply(T Variable::* p) {
        curvature_.multiply(free_, p);
        passes_ += curvature_.visits();
    }

    // curved = (H + I/sigma) p.
    void multiply_damped(T Variable::* p) {
        multiply(p);
        if (damping_ == 0) return;
        for (Variable& v : free_.all()) v.curved += T(damping_) * v.*p;
    }

    // After a step of which this part was good.
    void adapt(double length) {
        ++steps_;
        if (!can_be_damped) return;
        if (damping_ == 0) {
            if (length < 0.5 || steps_ >= many) damping_ = 1 / mean_bound();
        } else if (length < 0.5) {
            damping_ *= 10;
        } else if (length > 0.9) {
            damping_ /= 2;
        }
    }

    double mean_bound() const {
        double sum = 0;
        for (const FreeExample& example : free_.examples()) sum += problem_.upper[example.i];
        return sum / static_cast<double>(free_.examples().size());
    }

    struct Solved {
        int iterations = 0;
        bool is_enough = false;
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
            multiply_damped(&Variable::direction);
            ++solved.iterations;
            const double curvature = free_.inner(&Variable::direction, &Variable::curved);
            if (!(curvature > 0)) {
                solved.is_enough = true;
                return solved;
            }
            const T alpha = T(energy / curvature);
            for (Variable& v : free_.all()) {
                v.total += alpha * v.direction;
                v.residual -= alpha * v.curved;
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
        multiply_damped(&Variable::total);
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
    int steps_ = 0;
    double damping_ = 0;  // 1/sigma
    double passes_ = 0;
};

}  // namespace polymargin
