// Descent class by class, for machines whose classes share nothing: the dual falls into one problem
// for each class (by_class/state.hpp),
//
//     P - D = sum_c [P_c(w_c) - D_c(beta_c)].
//
// A pass descends on the candidates of each class that is not at rest and then looks at all
// examples with its weights, which gives its part of the gap and new candidates. The classes with
// the smallest parts, which make up less than half of the tolerance together, are at rest in the
// next pass. Most of a class's solution is that of a class without examples: all classes start from
// there. Weights are in memory for as long as they are needed: those of a few classes at a time,
// and those of all at the certificate, which is in double and of all classes together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/fit/stall.hpp"
#include "polymargin/fit/watch.hpp"
#include "polymargin/linear/by_class/crew.hpp"
#include "polymargin/linear/by_class/duals.hpp"
#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/outcome.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class ClassDescent {
public:
    using T = typename Rows::value_type;

    ClassDescent(const LinearProblem<Rows>& problem, const LinearOptions& options, Duals<T>& duals,
                 Store& weights, const Observer& observer)
        : problem_(problem),
          options_(options),
          goal_(options.goal),
          duals_(duals),
          weights_(weights),
          watch_(observer),
          norms_(working_norms(problem)),
          crew_(problem, norms_, options.threads, options.seed, watch_),
          k_(static_cast<std::size_t>(problem.k)),
          budget_(static_cast<double>(goal_.max_iter) * static_cast<double>(k_)) {}

    LinearOutcome run() {
        bool converged = false;
        if (budget_ > 0) begin();
        while (!converged && !watch_.interrupted() && visits_ < budget_) {
            if (!pass() || exhausted()) break;
            if (goal_.reached(gap_ / accept_, primal_, violation_ / accept_)) {
                converged = certify();
                accept_ *= 0.7;
            }
            choose();
        }
        if (!converged) converged = certify();
        const double passes = visits_ / static_cast<double>(k_);
        return {certificate_, static_cast<std::int64_t>(std::ceil(passes)), converged};
    }

private:
    static constexpr double share = 0.25;    // of the tolerance, for descent on candidates
    static constexpr std::size_t wave = 16;  // groups of classes, after which memory is foreseen
    static constexpr int most_common = 30;   // descents for the start of all classes

    void begin() {
        states_.resize(k_);
        cold_ = duals_.nonzeros() == 0;
        read_candidates<Rows, T>(problem_, duals_, states_);
        if (cold_) find_common();
        active_.resize(k_);
        std::iota(active_.begin(), active_.end(), 0);
    }

    // The solution of a class without examples.
    void find_common() {
        std::vector<ClassState<T>> state(1);
        const std::vector<std::int32_t> alone{no_class};
        const auto enough = [&](std::int32_t, const ClassState<T>& seen, const auto& met) {
            return is_enough(seen, met, 0.2);
        };
        for (int round = 0; round < most_common; ++round) {
            if (!crew_(alone, state, [](auto...) {}, enough)) break;
            if (goal_.reached(20 * state[0].gap, state[0].primal, 20 * state[0].violation)) break;
        }
        std::erase_if(state[0].candidates, [](const auto& one) { return one.beta == 0; });
        common_ = std::move(state[0].candidates);
    }

    // Adds the common start to the examples of class c.
    void start(std::int32_t c, ClassState<T>& state) const {
        auto& candidates = state.candidates;
        const auto middle = static_cast<std::ptrdiff_t>(candidates.size());
        for (const Candidate<T>& other : common_) {
            if (problem_.labels[other.i] != c) candidates.push_back(other);
        }
        std::inplace_merge(candidates.begin(), candidates.begin() + middle, candidates.end(),
                           [](const auto& a, const auto& b) { return a.i < b.i; });
    }

    // Of a descent, given what the last look at all examples found.
    template <class Met>
    bool is_enough(const ClassState<T>& seen, const Met& met, double part) const {
        const double tolerance = part * std::min(accept_, 1.0) * goal_.tol;
        if (!goal_.by_gap()) return met.violation <= tolerance;
        const double aim = tolerance * met.primal();
        // Before the first look most of those that matter are no candidates yet.
        if (std::isinf(seen.gap)) return met.gap <= std::max(0.1 * met.primal(), aim);
        return met.gap <= std::min(0.3 * seen.gap, std::max(0.05 * seen.gap, aim));
    }

    // Descends on the active classes; false if it was cut short.
    bool pass() {
        const auto left = static_cast<std::size_t>(std::max(0.0, budget_ - visits_));
        const std::size_t count = std::min(active_.size(), left);
        const std::size_t at_once = wave * ClassCrew<Rows>::at_once;
        const auto begin = [&](std::int32_t c, ClassState<T>& state) {
            if (cold_) start(c, state);
        };
        const auto enough = [&](std::int32_t, const ClassState<T>& seen, const auto& met) {
            return is_enough(seen, met, share);
        };
        for (std::size_t at = 0; at < count; at += at_once) {
            const auto some = std::span(active_).subspan(at, std::min(at_once, count - at));
            if (!crew_(some, states_, begin, enough)) return false;
            visits_ += static_cast<double>(some.size());
            foresee();
        }
        cold_ = false;
        write_duals<T>(states_, duals_);
        add_up();
        record({primal_, dual_, violation_});
        return !watch_.stopped();
    }

    void add_up() {
        CompensatedSum gap, primal, dual;
        violation_ = 0;
        for (const ClassState<T>& state : states_) {
            gap += state.gap;
            primal += state.primal;
            dual += state.dual;
            violation_ = std::max(violation_, state.violation);
        }
        gap_ = gap.value();
        primal_ = primal.value();
        dual_ = dual.value();
    }

    // Active become the classes with the largest parts of the gap.
    void choose() {
        active_.resize(k_);
        std::iota(active_.begin(), active_.end(), 0);
        const auto part = [&](std::int32_t c) {
            return goal_.by_gap() ? states_[c].gap : states_[c].violation;
        };
        std::ranges::stable_sort(active_, std::less<>(), part);
        const double rest =
            std::min(accept_, 1.0) * goal_.tol * (goal_.by_gap() ? 0.5 * primal_ : 1);
        double sum = 0;
        const auto first = std::ranges::find_if(active_, [&](std::int32_t c) {
            sum = goal_.by_gap() ? sum + part(c) : part(c);
            return sum > rest;
        });
        active_.erase(active_.begin(), first);
        std::ranges::sort(active_);
    }

    // What weights and dual variables will take, by the classes that were looked at.
    void foresee() const {
        double weights = 0, duals = 0, seen = 0;
        for (const ClassState<T>& state : states_) {
            if (std::isinf(state.gap)) continue;
            weights += static_cast<double>(state.weights);
            duals += static_cast<double>(state.duals);
            ++seen;
        }
        const double k = static_cast<double>(k_), growth = k / seen;
        const double all = static_cast<double>(problem_.features()) * k * sizeof(T);
        const double listed = growth * weights * (sizeof(T) + sizeof(std::int32_t));
        const double bytes =
            std::min(all, listed) + growth * duals * (sizeof(DualEntry<T>) + sizeof(Candidate<T>));
        if (bytes > options_.memory) throw TooDense(bytes);
    }

    // At the limit of the working precision the gap falls no further.
    bool exhausted() {
        if (gap_ > 256 * double(std::numeric_limits<T>::epsilon()) * primal_) stall_.reset();
        return stall_(-gap_);
    }

    bool certify() {
        if (!states_.empty()) write_duals<T>(states_, duals_);
        certificate_ = polymargin::certify(problem_, duals_, weights_, options_.threads);
        record(certificate_);
        return goal_.reached(certificate_);
    }

    void record(const Certificate& now) {
        watch_.record(visits_ / static_cast<double>(k_), now, problem_.size());
    }

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    const Goal& goal_;
    Duals<T>& duals_;
    Store& weights_;
    Watch watch_;
    std::vector<T> norms_;
    ClassCrew<Rows> crew_;
    std::vector<ClassState<T>> states_;  // by class
    std::vector<Candidate<T>> common_;   // that all classes start from
    std::vector<std::int32_t> active_;   // classes of the next pass
    bool cold_ = false;                  // before the first pass from nothing

    std::size_t k_;
    double budget_, visits_ = 0;  // of classes
    double accept_ = 0.95;        // of the tolerance
    double gap_ = 0, primal_ = 0, dual_ = 0, violation_ = 0;
    Stall stall_{20, 0.01};  // passes, and what counts as a fall of the gap
    Certificate certificate_{};
};

}  // namespace polymargin
