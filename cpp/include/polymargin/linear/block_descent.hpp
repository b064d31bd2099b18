// Dual block coordinate descent for a linear machine: examples are visited in random order, each
// block of k dual variables is solved exactly, and the weights follow.
//
//     max_beta D(beta),   P - D = sum_i [ C_i L_i(f_i) - sum_c beta_ic g_ic ]
//
// The duality gap is a sum over examples of terms that are never negative and that a visit gets
// for free, so it steers everything: a sweep over the active examples goes on until their gap has
// fallen to a fraction of the last check's; an example whose variables all sit at their bounds,
// with gradients well beyond the mean gap, leaves the active set; a check goes through all
// examples without moving them, finds the true gap and chooses the active set anew. When a sweep
// or a check says the gap is small enough, the certificate is computed in double. With many
// classes, most sweeps look only at those an example lists (listed_visitor.hpp); where convergence
// is slow, steps of second order on the free variables (subspace.hpp) come between the sweeps.
//
// Blondel et al. (2014), algorithm 1; Wang & Scott (2021), algorithm 1; shrinking after Hsieh et
// al. (2008) with the gap in place of the projected gradient.
#pragma once

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/subspace.hpp"
#include "polymargin/linear/sweep.hpp"
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
          sweep_(problem, norms_, duals, weights, options),
          has_lists_(options.class_lists && !duals.flat() && !problem.machine.zero_sum),
          is_small_(problem.weight_rows() * problem.k <= small_weights &&
                    problem.size() * problem.k <= small_weights),
          second_order_(options.second_order && second_order_pays()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        active_ = order_.size();
    }

    Result run() {
        const double n = static_cast<double>(problem_.size());
        budget_ = static_cast<double>(options_.max_iter) * n;
        bool converged = false;
        if (duals_.nonzeros() > 0) {
            refresh_weights(problem_, duals_, weights_, options_.threads);
            check();
        }
        while (!converged && !interrupted() && visits_ < budget_) {
            double gap = sweep();
            if (has_lists_) gap = listed_sweeps(gap);
            if (second_order_) accelerate();
            if (stopped_ || wait(gap)) continue;
            if (gap <= goal()) {
                converged = certify();
                if (converged) break;
                accept_ *= 0.9;
            }
            check();
            if (stopped_ || exhausted()) break;
            if (reached(last_gap_, violation_)) converged = certify();
        }
        if (!converged) converged = certify();
        return {certificate_, static_cast<std::int64_t>(std::ceil(visits_ / n)), converged};
    }

private:
    static constexpr std::size_t small_weights = 1 << 14;

    // It needs a few more matrices of the size of the weights, and pays where there are far more
    // examples than features or where all of it is small.
    bool second_order_pays() const {
        return is_small_ || (4 + options_.threads) * problem_.weight_rows() <= problem_.size() / 2;
    }

    bool reached(double gap, double violation) const {
        if (options_.stopping == Stopping::kkt) return violation <= options_.tol;
        return gap <= options_.tol * primal_;
    }

    // The gap, as a sweep meets it, at which a certificate is worth its time.
    double goal() const {
        return options_.stopping == Stopping::gap ? accept_ * options_.tol * primal_ : 0;
    }

    // More sweeps before the next check?
    bool wait(double gap) {
        if (visits_ >= budget_ || active_ == 0 || ++sweeps_ >= 100) return false;
        if (std::isinf(last_gap_)) last_gap_ = gap;
        return gap > std::max(goal(), 0.1 * last_gap_);
    }

    // At the limit of the working precision the gap falls no further.
    bool exhausted() {
        const double floor = 256 * double(std::numeric_limits<T>::epsilon()) * primal_;
        idle_ = last_gap_ < 0.99 * best_gap_ || last_gap_ > floor ? 0 : idle_ + 1;
        best_gap_ = std::min(best_gap_, last_gap_);
        return idle_ >= 10;
    }

    // Visits the active examples once, in random order; returns their gap as it was met.
    double sweep(bool listed = false) {
        if (problem_.machine.zero_sum && !duals_.flat()) weights_.centre();
        const double left = std::ceil(budget_ - visits_);
        const auto visits = std::min(active_, static_cast<std::size_t>(left));
        // A block whose own gap is a small part of its share of the tolerance can wait.
        const double share = options_.tol * primal_ / static_cast<double>(problem_.size());
        const typename Sweep<Rows>::Plan plan{
            .listed = listed,
            .threshold = threshold_,
            .near = std::isinf(threshold_) ? T(0) : threshold_ / 2,
            .negligible =
                options_.shrinking && options_.stopping == Stopping::gap ? 0.1 * share : 0};
        random_.shuffle(std::span(order_).first(active_));
        double gap = 0, weight = 0;
        std::size_t kept = 0;
        sweep_.run(std::span(order_).first(visits), plan, [&](std::size_t at, const State& state) {
            gap += state.gap;
            weight += problem_.upper[order_[at]];
            if (!shrinks(state)) std::swap(order_[kept++], order_[at]);
            return interrupted(at);
        });
        visits_ += static_cast<double>(visits);
        note_pass();
        if (listed) return gap;
        if (visits == active_) active_ = kept;
        threshold_ = T(0.5 * gap / weight);
        return gap;
    }

    bool shrinks(const State& state) const { return options_.shrinking && state.stable; }

    // Cheap sweeps over the listed classes; returns what is known of the gap then.
    double listed_sweeps(double gap) {
        double listed = gap;
        for (int s = 0; s < 5 && !stopped_ && visits_ < budget_; ++s) {
            listed = std::min(listed, sweep(true));
            if (listed < 0.3 * gap || listed <= goal()) break;
        }
        return listed;
    }

    // Every few sweeps, once the bounds of most examples are settled, a step of second order.
    void accelerate() {
        constexpr int sweeps_between = 20;
        const bool settled = is_small_ || 4 * active_ <= problem_.size();
        if (!settled || active_ == 0 || ++swept_ < sweeps_between) return;
        if (SubspaceStep<Rows>::most_passes * static_cast<double>(active_) > budget_ - visits_)
            return;
        swept_ = 0;
        if (!subspace_) {
            subspace_ = std::make_unique<SubspaceStep<Rows>>(problem_, norms_, duals_, weights_,
                                                             options_.threads);
        }
        visits_ += subspace_->run(sweep_.visitor(), std::span(order_).first(active_),
                                  [&] { return interrupted(); });
    }

    // Looks at every example without moving it: true gap, objectives, the next active set.
    void check() {
        forget_drift();
        struct Part {
            CompensatedSum gap, loss;
            double violation = 0;
        };
        const std::size_t n = order_.size(), parts = crew_for(n, options_.threads);
        std::vector<Part> sums(parts);
        std::vector<char> keep(n, 1);
        run_crew(parts, [&](std::size_t t) {
            Part& part = sums[t];
            for (std::size_t at = n * t / parts; at < n * (t + 1) / parts; ++at) {
                sweep_.look_ahead(order_, at, 1);
                Visitor<Rows>& visitor = sweep_.visitor(static_cast<int>(t));
                const State state = visitor.prepare(order_[at], threshold_);
                const Report report = visitor.report();
                visitor.discard();
                part.gap += state.gap;
                part.loss += report.loss;
                part.violation = std::max(part.violation, report.violation);
                keep[at] = !shrinks(state);
                if (t == 0 && interrupted(at)) break;
            }
        });
        if (stopped_) return;  // what was seen is not the whole
        active_ = 0;
        for (std::size_t at = 0; at < n; ++at) {
            if (keep[at]) std::swap(order_[active_++], order_[at]);
        }
        CompensatedSum gap, loss;
        violation_ = 0;
        for (const Part& part : sums) {
            gap += part.gap.value();
            loss += part.loss.value();
            violation_ = std::max(violation_, part.violation);
        }
        last_gap_ = std::max(0.0, gap.value());  // rounding can make it negative
        sweeps_ = 0;
        primal_ = 0.5 * weights_.squared_norm(problem_.machine.zero_sum) + loss.value();
        if (!options_.record_passes) record(primal_, primal_ - last_gap_, violation_);
    }

    // Where a curve is wanted: objectives of the whole after each pass. The clock stands still
    // meanwhile, and the fit goes on from its own weights.
    void note_pass() {
        const double n = static_cast<double>(problem_.size());
        if (!options_.record_passes || visits_ < next_pass_ * n) return;
        next_pass_ = std::floor(visits_ / n) + 1;
        const double before = seconds();
        Weights<T> rebuilt = weights_.copy();
        const Certificate now = polymargin::certify(problem_, duals_, rebuilt, options_.threads);
        paused_ += seconds() - before;
        record(now.primal, now.dual, now.violation);
    }

    // Many updates in single precision move the weights away from the dual variables. That shows
    // late, in small gaps.
    void forget_drift() {
        const bool late = last_gap_ < 1e-3 * primal_;
        const double passes = std::is_same_v<T, double> ? 1000 : late ? 10 : 100;
        if (visits_ - refreshed_ <= passes * static_cast<double>(problem_.size())) return;
        refresh_weights(problem_, duals_, weights_, options_.threads);
        refreshed_ = visits_;
    }

    bool certify() {
        certificate_ = polymargin::certify(problem_, duals_, weights_, options_.threads);
        primal_ = certificate_.primal;
        refreshed_ = visits_;
        record(certificate_.primal, certificate_.dual, certificate_.violation);
        return reached(certificate_.primal - certificate_.dual, certificate_.violation);
    }

    void record(double primal, double dual, double violation) {
        if (options_.record_passes && recorded_ == visits_) return;
        recorded_ = visits_;
        const Record record{.epoch = visits_ / static_cast<double>(problem_.size()),
                            .seconds = seconds(),
                            .primal = primal,
                            .dual = dual,
                            .gap = Certificate{primal, dual, violation}.gap(),
                            .violation = violation,
                            .active = static_cast<std::int64_t>(active_)};
        if (observer_.on_check && observer_.on_check(record)) stopped_ = true;
    }

    bool interrupted(std::size_t at) { return at % 64 == 63 ? interrupted() : stopped_; }

    bool interrupted() {
        if (!observer_.interrupted) return stopped_;
        const double now = seconds();
        if (now - asked_ > 0.1) {
            asked_ = now;
            stopped_ = stopped_ || observer_.interrupted();
        }
        return stopped_;
    }

    double seconds() const {
        const auto passed = std::chrono::steady_clock::now() - start_;
        return std::chrono::duration<double>(passed).count() - paused_;
    }

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    Duals<T>& duals_;
    Weights<T>& weights_;
    const Observer& observer_;
    std::vector<T> norms_;
    std::vector<std::uint32_t> order_;  // the active examples first
    std::size_t active_ = 0;
    Random random_;
    Sweep<Rows> sweep_;
    bool has_lists_, is_small_;

    // Steps of second order need more matrices like the weights: only where those are small.
    bool second_order_;
    std::unique_ptr<SubspaceStep<Rows>> subspace_;
    int swept_ = 0;

    double budget_ = 0, visits_ = 0, refreshed_ = 0;
    double next_pass_ = 1, recorded_ = -1, paused_ = 0;  // where passes are recorded
    double accept_ = 1.05;  // fraction of the tolerance the sweeps aim for
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
