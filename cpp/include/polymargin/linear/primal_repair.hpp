// Weights for the primal problem, from those of nearly optimal dual variables.
//
// Where C is large, the dual objective is as good as optimal long before the weights are: margins
// of free variables that are off by a thousandth are most of the primal objective then, and no
// step that is good for the dual one cares for them. A primal point need not be that of a dual one,
// though. With V, the variables whose margins have to be right, and r, what these lack,
//
//     U <- U + sum_v x_v nu_v x_i(v)^T,    min_x  |r - H x|  in the norm of M^-1,
//
// H as in curvature.hpp, M as in preconditioner.hpp, and x without bounds, is found by some
// iterations of conjugate residuals: they make the margins right where conjugate gradients, which
// look at the energy of the error, leave them worse for a long time. V and r are then taken anew.
//
// V are the free variables, whose margins shall be met exactly, and those at a bound whose
// gradient is about to point inside, which shall get no worse. In a full simplex the gradients of
// free variables shall be equal.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "polymargin/linear/best_weights.hpp"
#include "polymargin/linear/curvature.hpp"
#include "polymargin/linear/free_variables.hpp"
#include "polymargin/linear/preconditioner.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/visitor.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class PrimalRepair {
public:
    using T = typename Rows::value_type;
    using Vector = std::vector<T>;

    PrimalRepair(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
                 int threads)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          threads_(threads),
          free_(problem),
          curvature_(problem, threads),
          preconditioner_(problem, norms) {}

    struct Repaired {
        Store weights;
        double primal, dual;
        double visits;  // what it cost, in those of an example
    };

    // The least budget, in visits.
    double least() const { return 6 * static_cast<double>(problem_.size()); }

    // From the weights of the dual variables, until P - D <= tol P or that is not to be expected,
    // or `budget` visits were made. Where P - D is `most` times as large, nothing is tried.
    template <class Interrupted>
    Repaired run(const Store& weights, double tol, double most, double budget,
                 Interrupted&& interrupted) {
        // Beside products, a round takes the looks of its end and of the next one's start.
        const auto goes_on = [&] { return visits_ + least() <= budget && !interrupted(); };
        Repaired result{weights.copy(), 0, 0, 0};
        Store& U = result.weights;
        if (problem_.machine.zero_sum) U.centre();
        visits_ = 0;
        Multiple best = look(U);
        for (int round = 0; round < rounds; ++round) {
            const double dual = gather(U);
            if (round == 0) result.dual = dual;
            const double excess = best.primal - result.dual, enough = tol * best.primal;
            const bool far = round == 0 && excess > most * enough;
            if (excess <= enough || far || free_.size() == 0 || !goes_on()) break;
            solve(goes_on);
            if (!advance(U, best)) break;
            const double now = best.primal - result.dual, left = rounds - 1 - round;
            if (now > enough && now * std::pow(now / excess, left) > enough) break;
        }
        U.scale(T(best.scale));
        result.primal = best.primal;
        result.visits = visits_;
        return result;
    }

private:
    static constexpr int rounds = 10, iterations = 40, halvings = 2;
    static constexpr T near = T(1e-3);  // of a gradient

    Multiple look(const Store& U) {
        visits_ += static_cast<double>(problem_.size());
        return best_multiple(problem_, U, multiples(), threads_);
    }

    // Finds V and r; returns the dual objective, if the weights are those of the dual variables.
    double gather(const Store& U) {
        Visitor<Rows, Store> visitor(problem_, norms_, duals_, U);
        free_.clear();
        CompensatedSum dual;
        dual += 0.5 * U.squared_norm(false);
        for (std::uint32_t i = 0; i < problem_.size(); ++i) {
            const State state = visitor.prepare(i, T(0));
            dual += visitor.report().loss - state.gap;
            if (norms_[i] > 0) {
                free_.add(i,
                          [&](auto&& body) { return visitor.block().for_each_lack(near, body); });
            }
            visitor.discard();
        }
        visits_ += static_cast<double>(problem_.size());
        free_.arrange();
        curvature_.begin(free_);
        preconditioner_.begin(free_);
        return dual.value();
    }

    static double inner(const Vector& a, const Vector& b) {
        double sum = 0;
        for (std::size_t v = 0; v < a.size(); ++v) sum += double(a[v]) * double(b[v]);
        return sum;
    }

    void multiply(const Vector& p, Vector& product) {
        curvature_.multiply(free_, p, product);
        visits_ += curvature_.visits() * static_cast<double>(free_.examples().size());
    }

    // out = M^-1 p.
    void precondition(const Vector& p, Vector& out) {
        free_.residual = p;
        preconditioner_.solve(free_, out);
    }

    // Conjugate residuals; x is what `free` has as total.
    template <class GoesOn>
    void solve(GoesOn&& goes_on) {
        for (Vector* vector : {&residual_, &curved_residual_, &curved_, &solved_}) {
            vector->resize(free_.size());
        }
        precondition(free_.gradient, residual_);
        multiply(residual_, curved_residual_);
        direction_ = residual_;
        curved_ = curved_residual_;
        double energy = inner(residual_, curved_residual_);
        for (int at = 0; at < iterations && energy > 0 && goes_on(); ++at) {
            precondition(curved_, solved_);
            const double norm = inner(curved_, solved_);
            if (!(norm > 0)) break;
            const T step = T(energy / norm);
            for (std::size_t v = 0; v < free_.size(); ++v) {
                free_.total[v] += step * direction_[v];
                residual_[v] -= step * solved_[v];
            }
            multiply(residual_, curved_residual_);
            const double next = inner(residual_, curved_residual_);
            const T beta = T(next / energy);
            energy = next;
            for (std::size_t v = 0; v < free_.size(); ++v) {
                direction_[v] = residual_[v] + beta * direction_[v];
                curved_[v] = curved_residual_[v] + beta * curved_[v];
            }
        }
    }

    // Adds the change or a half or a quarter of it where that is a better primal point.
    bool advance(Store& U, Multiple& best) {
        move(U, T(1));
        T part = 1;
        for (int halving = 0;; ++halving) {
            const Multiple now = look(U);
            if (now.primal < best.primal) {
                best = now;
                return true;
            }
            if (halving == halvings) break;
            part /= 2;
            move(U, -part);
        }
        move(U, -part);
        return false;
    }

    void move(Store& U, T part) {
        Vector row(problem_.rows.scratch_size()), alpha(simd::padded<T>(problem_.k));
        solved_ = free_.total;
        for (T& change : solved_) change *= part;
        for (const FreeExample& example : free_.examples()) {
            free_.add_alphas(example, solved_, alpha);
            U.add(problem_.rows.row(example.i, row.data()), alpha.data(), U.whole());
            free_.clear_alphas(example, alpha);
        }
        if (problem_.machine.zero_sum) U.centre();
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    int threads_;
    FreeVariables<Rows> free_;
    std::conditional_t<Rows::is_sparse, ColumnCurvature<Rows>, RowCurvature<Rows>> curvature_;
    Preconditioner<Rows> preconditioner_;
    Vector residual_, direction_, curved_residual_, curved_, solved_;
    double visits_ = 0;
};

}  // namespace polymargin
