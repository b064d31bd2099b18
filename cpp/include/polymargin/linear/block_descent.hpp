// Dual block coordinate descent for a linear machine: examples are visited in random order, each
// block of k dual variables is solved exactly, and the weights follow.
//
//     max_beta D(beta),   P - D = sum_i [ C_i L_i(f_i) - sum_c beta_ic g_ic ]
//
// The duality gap is a sum over examples of terms that are never negative and that a visit gets
// for free, so it steers everything: a sweep over the active examples goes on until their gap has
// fallen to a fraction of the last check's; an example whose variables all sit at their bounds,
// with gradients well beyond the mean gap, leaves the active set; a check goes through all
// examples without moving them, finds the true gap and chooses the active set anew. When the
// check says the gap is small enough, the certificate is computed in double. Where convergence is
// slow, steps of second order on the free variables (subspace.hpp) come between the sweeps.
//
// Blondel et al. (2014), algorithm 1; Wang & Scott (2021), algorithm 1; shrinking after Hsieh et
// al. (2008) with the gap in place of the projected gradient.
#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/subspace.hpp"
#include "polymargin/linear/visitor.hpp"
#include "polymargin/random.hpp"

namespace polymargin {

template <class Rows>
class BlockDescent {
public:
    using T = typename Rows::value_type;

    struct Result {
        Certificate certificate;
        std::int64_t n_iter;
        bool converged;
    };

    BlockDescent(const LinearProblem<Rows>& problem, const LinearOptions& options, Duals<T>& duals,
                 Weights<T>& weights, const Observer& observer)
        : problem_(problem),
          options_(options),
          duals_(duals),
          weights_(weights),
          observer_(observer),
          norms_(working_norms(problem)),
          order_(problem.size()),
          random_(options.seed),
          visitor_(problem, norms_, duals, weights),
          solver_(options.block, options.seed),
          second_order_(5 * problem.weight_rows() <= problem.size()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        active_ = order_.size();
    }

    Result run() {
        const double n = static_cast<double>(problem_.size());
        const double budget = static_cast<double>(options_.max_iter) * n;
        double accept = 0.9;  // fraction of the tolerance the sweeps aim for
        bool converged = false;
        if (duals_.nonzeros() > 0) {
            refresh_weights(problem_, duals_, weights_, options_.threads);
            check();
        }
        while (!stopped_ && visits_ < budget) {
            const double gap = sweep(budget - visits_);
            if (second_order_) accelerate(budget - visits_);
            const double aim = options_.stopping == Stopping::gap ? accept * options_.tol : 0;
            const double goal = std::max(aim * primal_, 0.1 * last_gap_);
            const bool wait = gap > goal && active_ > 0 && ++sweeps_ < 100;
            if (stopped_ || (wait && visits_ < budget)) continue;
            check();
            if (exhausted()) break;
            if (!reached(last_gap_, violation_)) continue;
            const Certificate proof = certify();
            if (reached(proof.primal - proof.dual, proof.violation)) {
                converged = true;
                break;
            }
            accept *= 0.5;
        }
        if (!converged) {
            const Certificate proof = certify();
            converged = reached(proof.primal - proof.dual, proof.violation);
        }
        const auto passes = static_cast<std::int64_t>(std::ceil(visits_ / n));
        return {certificate_, passes, converged};
    }

private:
    bool reached(double gap, double violation) const {
        if (options_.stopping == Stopping::kkt) return violation <= options_.tol;
        return gap <= options_.tol * primal_;
    }

    // At the limit of the working precision the gap falls no further.
    bool exhausted() {
        const double floor = 256 * double(std::numeric_limits<T>::epsilon()) * primal_;
        idle_ = last_gap_ < 0.99 * best_gap_ || last_gap_ > floor ? 0 : idle_ + 1;
        best_gap_ = std::min(best_gap_, last_gap_);
        return idle_ >= 10;
    }

    // Visits the active examples once, in random order; returns their gap as it was met.
    double sweep(double budget) {
        random_.shuffle(std::span(order_).first(active_));
        if (problem_.machine.zero_sum && !duals_.flat()) weights_.centre();
        const std::size_t visits = std::min<std::size_t>(active_, std::size_t(std::ceil(budget)));
        // A block whose own gap is a small part of its share of the tolerance can wait.
        const double share = options_.tol * primal_ / static_cast<double>(problem_.size());
        const double negligible = options_.stopping == Stopping::gap ? 0.1 * share : 0;
        double gap = 0, weight = 0;
        std::size_t kept = 0;
        for (std::size_t at = 0; at < visits; ++at) {
            const std::uint32_t i = order_[at];
            if (at + lookahead < visits) visitor_.prefetch(order_[at + lookahead]);
            const State state = visitor_.prepare(i, threshold_);
            if (state.moves && state.gap > negligible) {
                visitor_.improve(solver_);
            } else {
                visitor_.discard();
            }
            gap += state.gap;
            weight += problem_.upper[i];
            if (!options_.shrinking || !state.stable) std::swap(order_[kept++], order_[at]);
            if (interrupted(at)) break;
        }
        visits_ += static_cast<double>(visits);
        if (visits == active_) active_ = kept;
        threshold_ = T(0.5 * gap / weight);
        return gap;
    }

    // Every few sweeps, once the bounds of most examples are settled, a step of second order.
    void accelerate(double budget) {
        constexpr int sweeps_between = 20;
        if (4 * active_ > problem_.size() || active_ == 0 || ++swept_ < sweeps_between) return;
        if (SubspaceStep<Rows>::most_passes * static_cast<double>(active_) > budget) return;
        swept_ = 0;
        if (!subspace_) {
            subspace_ = std::make_unique<SubspaceStep<Rows>>(problem_, norms_, duals_, weights_);
        }
        visits_ += subspace_->run(visitor_, std::span(order_).first(active_));
    }

    // Looks at every example without moving it: true gap, objectives, the next active set.
    void check() {
        // Many updates in single precision drift away from the dual variables.
        constexpr double passes = std::is_same_v<T, float> ? 10 : 1000;
        if (visits_ - refreshed_ > passes * static_cast<double>(problem_.size())) {
            refresh_weights(problem_, duals_, weights_, options_.threads);
            refreshed_ = visits_;
        }
        CompensatedSum gap, loss;
        violation_ = 0;
        active_ = 0;
        for (std::size_t at = 0; at < order_.size() && !stopped_; ++at) {
            if (at + lookahead < order_.size()) visitor_.prefetch(order_[at + lookahead]);
            const State state = visitor_.prepare(order_[at], threshold_);
            const Report report = visitor_.report();
            visitor_.discard();
            gap += state.gap;
            loss += report.loss;
            violation_ = std::max(violation_, report.violation);
            if (!options_.shrinking || !state.stable) std::swap(order_[active_++], order_[at]);
            interrupted(at);
        }
        last_gap_ = gap.value();
        sweeps_ = 0;
        primal_ = 0.5 * weights_.squared_norm(problem_.machine.zero_sum) + loss.value();
        record(primal_, primal_ - last_gap_, violation_);
    }

    Certificate certify() {
        certificate_ = polymargin::certify(problem_, duals_, weights_, options_.threads);
        primal_ = certificate_.primal;
        record(certificate_.primal, certificate_.dual, certificate_.violation);
        return certificate_;
    }

    void record(double primal, double dual, double violation) {
        const Record record{.epoch = visits_ / static_cast<double>(problem_.size()),
                            .seconds = seconds(),
                            .primal = primal,
                            .dual = dual,
                            .gap = Certificate{primal, dual, violation}.gap(),
                            .violation = violation,
                            .active = static_cast<std::int64_t>(active_)};
        if (observer_.on_check && observer_.on_check(record)) stopped_ = true;
    }

    bool interrupted(std::size_t at) {
        if (at % 64 != 63 || !observer_.interrupted) return stopped_;
        const double now = seconds();
        if (now - asked_ > 0.1) {
            asked_ = now;
            stopped_ = stopped_ || observer_.interrupted();
        }
        return stopped_;
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    static constexpr std::size_t lookahead = 3;

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    Duals<T>& duals_;
    Weights<T>& weights_;
    const Observer& observer_;
    std::vector<T> norms_;
    std::vector<std::uint32_t> order_;  // the active examples first
    std::size_t active_ = 0;
    Random random_;
    Visitor<Rows> visitor_;
    BlockSolver<T> solver_;

    // Steps of second order need another matrix like the weights: only where that is small.
    bool second_order_;
    std::unique_ptr<SubspaceStep<Rows>> subspace_;
    int swept_ = 0;

    double visits_ = 0, refreshed_ = 0;
    T threshold_ = std::numeric_limits<T>::infinity();
    double primal_ = 0, last_gap_ = std::numeric_limits<double>::infinity(), violation_ = 0;
    double best_gap_ = std::numeric_limits<double>::infinity();
    int sweeps_ = 0, idle_ = 0;  // sweeps since the last check, checks without progress
    Certificate certificate_{};
    bool stopped_ = false;
    double asked_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace polymargin
