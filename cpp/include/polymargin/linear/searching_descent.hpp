// Dual block coordinate descent where there are too many classes to look at all of them at every
// visit. Each example lists some classes; the dual variables of all others are zero.
//
//     max_beta D(beta)   with beta_ic = 0 for unlisted c, then with longer lists, and so on.
//
// A search (class_search.hpp) looks at every class of every example, finds the true gap, and adds
// the classes that would rise most to the lists; sweeps over the listed classes follow until most
// of that gap is gone, after the first one only over examples with much of it. The very first
// search visits each part of the examples right after it has looked at them: weights of zero say
// nothing. Nothing is approximate: the fit ends on the certificate of all classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "polymargin/fit/stall.hpp"
#include "polymargin/fit/watch.hpp"
#include "polymargin/linear/active_set.hpp"
#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/class_search.hpp"
#include "polymargin/linear/drift.hpp"
#include "polymargin/linear/outcome.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/sweep.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class SearchingDescent {
public:
    using T = typename Rows::value_type;

    SearchingDescent(const LinearProblem<Rows>& problem, const LinearOptions& options,
                     Duals<T>& duals, Store& weights, const Observer& observer)
        : problem_(problem),
          options_(options),
          goal_(options.goal),
          duals_(duals),
          weights_(weights),
          watch_(observer),
          norms_(working_norms(problem)),
          examples_(problem.size(), options.seed),
          sweep_(problem, norms_, duals, weights, options),
          search_(problem, duals, weights, options.threads),
          n_(static_cast<double>(problem.size())),
          budget_(static_cast<double>(goal_.max_iter) * n_) {}

    LinearOutcome run() {
        bool converged = false;
        if (duals_.nonzeros() > 0) {
            rebuild();
        } else if (budget_ > 0) {
            begin();
        }
        while (!converged && !watch_.interrupted() && visits_ < budget_) {
            search();
            if (watch_.stopped() || exhausted()) break;
            if (goal_.reached(gap_, primal_, violation_)) {
                converged = certify();
                if (converged) break;
            }
            descend();
        }
        if (!converged) converged = certify();
        return {certificate_, static_cast<std::int64_t>(std::ceil(visits_ / n_)), converged};
    }

private:
    using Plan = typename Sweep<Rows, Store>::Plan;

    // From weights of zero.
    void begin() {
        std::size_t part = 256;
        for (std::size_t first = 0; first < problem_.size() && !watch_.interrupted();) {
            const std::size_t last = std::min(problem_.size(), first + part);
            search_(first, last, near, [&] { return watch_.interrupted(); });
            std::vector<std::uint32_t> order(last - first);
            std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(first));
            sweep_.run(order, plan(0),
                       [&](std::size_t at, const State&) { return watch_.interrupted(at); });
            visits_ += static_cast<double>(last - first);
            first = last;
            part = std::min<std::size_t>(2 * part, 8192);
        }
    }

    void search() {
        forget_drift();
        const Searched found =
            search_(0, problem_.size(), near, [&] { return watch_.interrupted(); });
        visits_ += n_;
        if (watch_.stopped()) return;  // what was seen is not the whole
        gap_ = found.gap.value();
        violation_ = found.violation;
        primal_ = 0.5 * weights_.squared_norm(false) + found.loss.value();
        foresee(found);
        choose(0.0, problem_.size());
        record({primal_, primal_ - gap_, violation_});
    }

    // Where C is small, most classes of most examples count in the optimum itself. Early searches
    // find many that will not.
    void foresee(const Searched& found) {
        const double k = problem_.k;
        if (++searches_ < 4 || found.wanting < 0.1 * n_ * k) return;
        const double growth = 1 + found.wanting / std::max(1.0, found.listed);
        const double all = static_cast<double>(problem_.features()) * k * sizeof(T);
        const double bytes = std::min(all, growth * static_cast<double>(weights_.bytes())) +
                             (found.listed + found.wanting) * sizeof(DualEntry<T>);
        if (bytes > options_.memory) throw TooDense(bytes);
    }

    // Sweeps over the listed classes.
    void descend() {
        double listed = gap_, enough = 0;
        for (int s = 0; s < most_sweeps && listed > enough && visits_ < budget_; ++s) {
            examples_.shuffle();
            const std::size_t count = examples_.size();
            listed = 0;
            const double negligible = goal_.by_gap() ? 0.05 * goal_.tol * primal_ / n_ : 0;
            sweep_.run(examples_.active(), plan(negligible),
                       [&](std::size_t at, const State& state) {
                           search_.gaps()[examples_[at]] = static_cast<float>(state.gap);
                           listed += state.gap;
                           return watch_.interrupted(at);
                       });
            visits_ += static_cast<double>(count);
            if (watch_.stopped() || count == 0) return;
            if (s == 0) enough = std::max(0.1 * listed, 0.3 * goal_.tol * primal_);
            choose(0.02 * listed / static_cast<double>(count), count);
        }
    }

    Plan plan(double negligible) const {
        return {.listed = true, .threshold = T(0), .near = near, .negligible = negligible};
    }

    // Active become those of the first examples that have more than this of the gap.
    void choose(double least, std::size_t count) {
        examples_.begin_choice();
        for (std::size_t at = 0; at < count; ++at) {
            if (search_.gaps()[examples_[at]] > least) examples_.keep(at);
        }
        examples_.end_choice();
    }

    // At the limit of the working precision the gap falls no further.
    bool exhausted() {
        if (gap_ > 256 * double(std::numeric_limits<T>::epsilon()) * primal_) stall_.reset();
        return stall_(-gap_);
    }

    void rebuild() {
        weights_.rebuild(problem_, duals_, options_.threads);
        drift_.forget(visits_ / n_);
    }

    void forget_drift() {
        if (drift_.is_due(visits_ / n_, gap_ < 1e-3 * primal_)) rebuild();
    }

    bool certify() {
        certificate_ = polymargin::certify(problem_, duals_, weights_, options_.threads);
        drift_.forget(visits_ / n_);
        record(certificate_);
        return goal_.reached(certificate_);
    }

    void record(const Certificate& now) { watch_.record(visits_ / n_, now, examples_.size()); }

    static constexpr T near = T(0.05);  // of a gradient: classes this close stay listed
    static constexpr int most_sweeps = 8;

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    const Goal& goal_;
    Duals<T>& duals_;
    Store& weights_;
    Watch watch_;
    std::vector<T> norms_;
    ActiveSet examples_;
    Sweep<Rows, Store> sweep_;
    ClassSearch<Rows, Store> search_;

    double n_, budget_, visits_ = 0;
    Drift<T> drift_;
    int searches_ = 0;
    double gap_ = 0, primal_ = 0, violation_ = 0;
    Stall stall_{100, 0.01};  // searches, and what counts as a fall of the gap
    Certificate certificate_{};
};

}  // namespace polymargin
