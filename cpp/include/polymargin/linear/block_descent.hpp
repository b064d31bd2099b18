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
// classes, most sweeps look only at those an example lists (listed_visitor.hpp), and only at the
// examples with much of the gap (active_sweep.hpp). A visit goes half as far again as is best for
// the example alone, since others will answer it: successive over-relaxation, which never lowers
// the dual objective below a factor of 2. Where convergence is slow, steps of second order on the
// free variables (subspace.hpp) come between the sweeps, and weights beside those of the dual
// variables may be good enough already (repairs.hpp).
//
// Blondel et al. (2014), algorithm 1; Wang & Scott (2021), algorithm 1; shrinking after Hsieh et
// al. (2008) with the gap in place of the projected gradient; over-relaxation as in Mangasarian and
// Musicant (1999).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "polymargin/fit/stall.hpp"
#include "polymargin/fit/watch.hpp"
#include "polymargin/linear/acceleration.hpp"
#include "polymargin/linear/active_sweep.hpp"
#include "polymargin/linear/best_weights.hpp"
#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/drift.hpp"
#include "polymargin/linear/look.hpp"
#include "polymargin/linear/outcome.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/repairs.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class BlockDescent {
public:
    using T = typename Rows::value_type;

    // What another descent has done for these dual variables, perhaps in another precision, and the
    // weights that it ended with where they are not theirs.
    struct Earlier {
        double visits = 0, seconds = 0;
        bool stopped = false;
        std::optional<Store> weights{};
    };

    BlockDescent(const LinearProblem<Rows>& problem, const LinearOptions& options, Duals<T>& duals,
                 Store& weights, const Observer& observer, Earlier earlier = {})
        : problem_(problem),
          options_(options),
          goal_(options.goal),
          duals_(duals),
          weights_(weights),
          watch_(observer, earlier.seconds),
          norms_(working_norms(problem)),
          examples_(problem, norms_, duals, weights, options),
          acceleration_(problem, options, norms_),
          best_(problem, options.threads),
          repairs_(problem, options, norms_, duals, best_),
          has_lists_(options.class_lists && !duals.flat() && !problem.machine.zero_sum),
          promise_(has_lists_ ? 1.4 : 1),
          n_(static_cast<double>(problem.size())),
          budget_(earlier.stopped ? 0 : static_cast<double>(goal_.max_iter) * n_),
          visits_(earlier.visits),
          goes_on_(visits_ > 0) {
        examples_.set_relaxation(T(options.relaxation));
        if (earlier.weights) best_.remember(*earlier.weights);
    }

    LinearOutcome run() {
        bool converged = goes_on_ && visits_ < budget_ && certify();
        if (!converged && visits_ < budget_ && duals_.nonzeros() > 0) {
            if (!goes_on_) rebuild();
            check();
        }
        while (!converged && !watch_.interrupted() && visits_ < budget_) {
            double gap = sweep();
            if (has_lists_) gap = listed_sweeps(gap);
            accelerate(gap);
            if (repaired_) converged = certify();
            if (converged) break;
            if (watch_.stopped() || wait(gap)) continue;
            if (gap <= target()) {
                converged = leaves_certificate() || certify();
                if (converged) break;
                be_stricter();
            }
            check();
            if (watch_.stopped() || exhausted()) break;
            const bool reached = goal_.reached(last_gap_, primal_, violation_);
            converged = reached && leaves_certificate();
            if (!converged && (reached || is_near())) converged = certify();
            if (!converged && repairs_.is_due(last_gap_, goal_.tol * primal_)) {
                converged = repair() && certify();
            }
        }
        if (!converged) converged = certify(true);
        return {certificate_, static_cast<std::int64_t>(std::ceil(visits_ / n_)), converged};
    }

    double visits() const { return visits_; }
    double seconds() const { return watch_.seconds(); }
    // Whether it has ended with weights that are not those of the dual variables.
    bool has_other_weights() const { return has_other_weights_; }

private:
    static constexpr double slow = 50;  // passes
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    // Whether it ends where a certificate would be due. A slow fit may need other weights for that.
    bool leaves_certificate() const { return options_.certified_later && !is_slow(); }

    // The gap, as a sweep meets it, at which a certificate is worth its time.
    double target() const {
        const double accept = is_slow() ? promise_ * accept_ : accept_;
        return goal_.by_gap() ? accept * goal_.tol * primal_ : 0;
    }
    void be_stricter() {
        if (is_slow() && promise_ > 1) {
            promise_ = 1;
        } else {
            accept_ *= 0.9;
        }
    }

    // More sweeps before the next check?
    bool wait(double gap) {
        const double many = std::clamp(0.2 * visits_, 20 * n_, 100 * n_);
        const bool many_visits = visits_ - checked_ >= many && !is_at_floor();
        const bool long_ago = ++sweeps_ >= 100 || many_visits;
        if (visits_ >= budget_ || examples_.size() == 0 || long_ago) return false;
        if (std::isinf(last_gap_)) last_gap_ = gap;
        return gap > std::max(target(), 0.1 * last_gap_);
    }

    // At the limit of the working precision the gap falls no further.
    bool exhausted() {
        if (!is_at_floor()) stall_.reset();
        return stall_(-last_gap_);
    }
    bool is_at_floor() const {
        return last_gap_ <= 256 * double(std::numeric_limits<T>::epsilon()) * primal_;
    }

    // Visits the active examples once, in random order; returns their gap as it was met.
    double sweep(bool listed = false) {
        const double left = std::ceil(budget_ - visits_);
        // A block whose own gap is a small part of its share of the tolerance can wait.
        const double share = goal_.tol * primal_ / n_;
        const double negligible = options_.shrinking && goal_.by_gap() ? 0.1 * share : 0;
        const auto interrupted = [&](std::size_t at) { return watch_.interrupted(at); };
        const auto most = static_cast<std::size_t>(left);
        const auto met = listed ? examples_.run_listed(most, negligible, interrupted)
                                : examples_.run(most, negligible, interrupted);
        visits_ += static_cast<double>(met.visits);
        note_pass();
        return met.gap;
    }

    // Cheap sweeps after one that has met this gap; returns what is left of it. They see a part
    // alone, which is taken to be as large as it was when all was last looked at after them.
    double listed_sweeps(double gap) {
        if (seen_ > 0) hidden_ = std::max(1.0, gap / seen_);
        const double enough = std::max(0.3 * gap, target());
        double left = gap;
        for (int s = 0; s < 10 && left > enough && !watch_.stopped() && visits_ < budget_; ++s) {
            seen_ = sweep(true);
            left = std::min(left, hidden_ * seen_);
        }
        return left;
    }

    void accelerate(double gap) {
        repaired_ = false;
        repairs_.see_gap(visits_ / n_, gap);
        visits_ += acceleration_.after_sweep(
            examples_.visitor(), examples_.active(), duals_, weights_,
            {visits_ / n_, gap, goal_.tol * primal_}, [&] { return budget_ - visits_; },
            [&] {
                best_.remember(weights_);
                repaired_ = is_slow() && repair(true);
                return repaired_;
            },
            [&] { return watch_.interrupted(); });
    }

    // Whether weights beside those of the dual variables are good enough.
    bool repair(bool before_step = false) {
        const double before = repairs_.visits(), left = budget_ - visits_;
        const auto interrupted = [&] { return watch_.interrupted(); };
        const bool good = before_step ? repairs_.before_step(weights_, visits_, left, interrupted)
                                      : repairs_.run(weights_, visits_, left, interrupted);
        visits_ += repairs_.visits() - before;
        return good;
    }

    // Looks at every example without moving it: true gap, objectives, the next active set.
    void check() {
        forget_drift();
        const Look look = examples_.look([&](std::size_t at) { return watch_.interrupted(at); });
        if (watch_.stopped()) return;  // what was seen is not the whole
        last_gap_ = look.gap;
        violation_ = look.violation;
        sweeps_ = 0;
        checked_ = visits_;
        primal_ = 0.5 * weights_.squared_norm(problem_.machine.zero_sum) + look.loss;
        if (is_slow()) best_.see(weights_, primal_);
        repairs_.see_dual(visits_ / n_, primal_ - last_gap_);
        if (!goal_.record_passes) record({primal_, primal_ - last_gap_, violation_});
    }

    bool certify(bool at_end = false) {
        certificate_ = polymargin::certify(problem_, duals_, weights_, options_.threads);
        primal_ = certificate_.primal;
        tried_ = visits_;
        drift_.forget(visits_ / n_);
        if (!goal_.reached(certificate_)) lower_primal(at_end);
        record(certificate_);
        return goal_.reached(certificate_);
    }

    // Other weights may be a better primal point. They are what a slow fit ends with, one that was
    // repaired, and one that is stopped, perhaps right after a step that was good for the dual
    // alone; the weights of others are exactly those of their dual variables.
    void lower_primal(bool at_end) {
        if (!goal_.by_gap() ||
            !(is_slow() || repairs_.visits() > 0 || watch_.stopped() || goes_on_))
            return;
        auto found = best_.better_than(weights_, certificate_.primal);
        if (!found) return;
        Certificate lower = certificate_;
        lower.primal = found->primal;
        if (!(at_end || goal_.reached(lower))) return;
        certificate_ = lower;
        weights_ = std::move(found->weights);
        has_other_weights_ = true;
    }

    bool is_slow() const { return visits_ >= slow * n_; }

    // Whether other weights may be good enough, and were not tried lately.
    bool is_near() const {
        const double since = visits_ - tried_, dual = primal_ - last_gap_;
        return goal_.by_gap() && is_slow() &&
               std::min(primal_, best_.primal()) - dual <= 10 * goal_.tol * primal_ &&
               since >= 10 * n_ && since >= 0.1 * visits_;
    }

    void rebuild() {
        weights_.rebuild(problem_, duals_, options_.threads);
        drift_.forget(visits_ / n_);
    }

    void forget_drift() {
        if (drift_.is_due(visits_ / n_, last_gap_ < 1e-3 * primal_)) rebuild();
    }

    // Where a curve is wanted: objectives of the whole after each pass. The clock stands still
    // meanwhile, and the fit goes on from its own weights.
    void note_pass() {
        if (!goal_.record_passes || visits_ < next_pass_ * n_) return;
        next_pass_ = std::floor(visits_ / n_) + 1;
        record(watch_.paused([&] {
            Store rebuilt = weights_.copy();
            return polymargin::certify(problem_, duals_, rebuilt, options_.threads);
        }));
    }

    void record(const Certificate& now) {
        if (goal_.record_passes && recorded_ == visits_) return;
        recorded_ = visits_;
        watch_.record(visits_ / n_, now, examples_.size());
    }

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    const Goal& goal_;
    Duals<T>& duals_;
    Store& weights_;
    Watch watch_;
    std::vector<T> norms_;
    ActiveSweep<Rows, Store> examples_;
    Acceleration<Rows, Store> acceleration_;
    BestWeights<Rows, Store> best_;
    Repairs<Rows, Store> repairs_;
    bool has_lists_;
    // Other weights, which a slow fit may end with, leave less of the gap where classes are many.
    double promise_;

    double n_, budget_, visits_;
    bool goes_on_, has_other_weights_ = false;
    double seen_ = 0;    // gap, by the last cheap sweep
    double hidden_ = 1;  // times as much was there, when all was looked at last
    bool repaired_ = false;
    Drift<T> drift_;
    // Visits when a check was made, weights were certified and recorded.
    double checked_ = 0, tried_ = 0, recorded_ = -1;
    double next_pass_ = 1;
    double accept_ = 1.05;  // fraction of the tolerance the sweeps aim for
    double primal_ = 0, last_gap_ = infinity, violation_ = 0;
    int sweeps_ = 0;         // since the last check
    Stall stall_{10, 0.01};  // checks, and what counts as a fall of the gap
    Certificate certificate_{};
};

}  // namespace polymargin
