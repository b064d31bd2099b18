// Dual block coordinate descent where there are too many classes to look at all of them at every
// visit. Each example lists some classes; the dual variables of all others are zero.
//
//     max_beta D(beta)   with beta_ic = 0 for unlisted c, then with longer lists, and so on.
//
// A pass takes the examples in random order, a group at a time (group/solve.hpp): it reads the
// scores of the group, solves for its listed variables, and adds the change to the weights. In a
// pass that searches, the scores are those of all classes (class_search.hpp), and the classes that
// would rise most are listed first; once a search has found few of them, passes over listed classes
// alone follow until most of the gap is gone. Nothing is approximate: the fit ends on the
// certificate of all classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/block/solver.hpp"
#include "polymargin/fit/stall.hpp"
#include "polymargin/fit/watch.hpp"
#include "polymargin/linear/active_set.hpp"
#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/class_search.hpp"
#include "polymargin/linear/drift.hpp"
#include "polymargin/linear/group/solve.hpp"
#include "polymargin/linear/outcome.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/random.hpp"
#include "polymargin/sums.hpp"

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
          search_(problem, duals, weights, options.threads),
          group_(problem, norms_, duals),
          solver_(options.block, options.seed),
          random_(options.seed + 1),
          gaps_(problem.size()),
          n_(static_cast<double>(problem.size())),
          budget_(static_cast<double>(goal_.max_iter) * n_) {}

    LinearOutcome run() {
        bool converged = false;
        if (duals_.nonzeros() > 0) rebuild();
        while (!converged && !watch_.interrupted() && visits_ < budget_) {
            Searched found;
            if (!search(found) || exhausted()) break;
            double gap = gap_;
            const bool is_near = goal_.by_gap() && found.added < few_added * n_;
            if (is_near && gap > target()) gap = descend(found.listed + found.added);
            if (goal_.by_gap() ? gap <= target() : goal_.reached(gap, primal_, violation_)) {
                converged = certify();
                accept_ *= 0.8;
            }
        }
        if (!converged) converged = certify();
        return {certificate_, static_cast<std::int64_t>(std::ceil(visits_ / n_)), converged};
    }

private:
    // The gap, as a pass meets it, at which a certificate is worth its time.
    double target() const { return accept_ * goal_.tol * primal_; }

    // A pass over all examples that looks at all classes; false if it was cut short.
    bool search(Searched& all) {
        forget_drift();
        choose(-1);
        const bool whole = pass(most_examples, [&](std::span<const std::uint32_t> examples) {
            all.add(search_(examples, near));
            group_.gather(examples, options_.threads);
            const GroupPairs& pairs = group_.pairs();
            for (std::size_t e = 0; e < examples.size(); ++e) {
                std::copy_n(search_.scores(e), pairs.end(e) - pairs.begin(e),
                            group_.scores().begin() + static_cast<std::ptrdiff_t>(pairs.begin(e)));
            }
        });
        if (!whole) return false;
        gap_ = all.gap.value();
        violation_ = all.violation;
        primal_ = 0.5 * weights_.squared_norm(false) + all.loss.value();  // as it was met
        foresee(all);
        record({primal_, dual(), violation_});
        return !watch_.stopped();
    }

    // D, as far as the weights follow the dual variables.
    double dual() const {
        CompensatedSum sum;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            duals_.for_each(i, [&](std::int32_t c, T beta) {
                sum += problem_.machine.margin(c == problem_.labels[i], problem_.k) * beta;
            });
        }
        return sum.value() - 0.5 * weights_.squared_norm(false);
    }

    // Passes over this many pairs of examples and listed classes, after the first one only of
    // examples with much of the gap; returns the gap of all examples as they were last met.
    double descend(double pairs) {
        const double enough = std::max(0.1 * gap_, target());
        const auto at_once = static_cast<std::size_t>(
            std::clamp(most_pairs * n_ / std::max(1.0, pairs), 16., double(most_examples)));
        double gap = gap_;
        for (int s = 0; s < most_passes && gap > enough; ++s) {
            choose(s ? 0.02 * gap / n_ : -1);
            const bool whole = pass(at_once, [&](std::span<const std::uint32_t> examples) {
                group_.gather(examples, options_.threads);
                weights_.scores_of(group_.columns(), group_.pairs(), group_.scores(),
                                   options_.threads);
            });
            if (!whole) break;
            gap = 0;
            for (const float part : gaps_) gap += part;
            const double now = dual();
            record({now + gap, now, violation_});
        }
        return gap;
    }

    // Visits the active examples in random order; `score` fills the scores of a group. False if the
    // caller or the number of passes puts an end to it.
    template <class Score>
    bool pass(std::size_t at_once, Score&& score) {
        const double negligible = goal_.by_gap() ? 0.05 * goal_.tol * primal_ / n_ : 0;
        examples_.shuffle();
        const std::span<const std::uint32_t> all = examples_.active();
        const auto left = static_cast<std::size_t>(std::ceil(std::max(0.0, budget_ - visits_)));
        const std::size_t count = std::min(all.size(), left);
        for (std::size_t at = 0; at < count; at += at_once) {
            if (watch_.interrupted()) return false;
            score(all.subspan(at, std::min(at_once, count - at)));
            group_.solve(solver_, random_, negligible,
                         [&](std::uint32_t i, double gap) { gaps_[i] = static_cast<float>(gap); });
            group_.store();
            weights_.add(
                group_.columns(), [&](std::size_t e) { return group_.changes(e); }, group_.size(),
                options_.threads);
            visits_ += static_cast<double>(group_.size());
        }
        return count == all.size();
    }

    // Active become the examples with more than this of the gap, as they were last met.
    void choose(double least) {
        examples_.begin_choice();
        for (std::size_t at = 0; at < problem_.size(); ++at) {
            if (gaps_[examples_[at]] > least) examples_.keep(at);
        }
        examples_.end_choice();
    }

    // Where C is small, most classes of most examples count in the optimum itself. Early searches
    // find many that will not: there they become fewer from pass to pass.
    void foresee(const Searched& found) {
        const double k = problem_.k, before = std::exchange(wanting_, found.wanting);
        const bool stays = found.wanting > 0.7 * before;
        if (++searches_ < 4 || !stays || found.wanting < 0.1 * n_ * k) return;
        const double growth = 1 + found.wanting / std::max(1.0, found.listed);
        const double all = static_cast<double>(problem_.features()) * k * sizeof(T);
        const double bytes = std::min(all, growth * static_cast<double>(weights_.bytes())) +
                             (found.listed + found.wanting) * sizeof(DualEntry<T>);
        if (bytes > options_.memory) throw TooDense(bytes);
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

    static constexpr T near = T(0.05);        // of a gradient: classes this close stay listed
    static constexpr double few_added = 0.5;  // classes an example
    static constexpr int most_passes = 8;
    static constexpr std::size_t most_examples = 4096;  // of a group
    static constexpr double most_pairs = 1 << 22;

    const LinearProblem<Rows>& problem_;
    const LinearOptions& options_;
    const Goal& goal_;
    Duals<T>& duals_;
    Store& weights_;
    Watch watch_;
    std::vector<T> norms_;
    ActiveSet examples_;
    ClassSearch<Rows, Store> search_;
    ExampleGroup<Rows> group_;
    BlockSolver<T> solver_;
    Random random_;
    std::vector<float> gaps_;  // of each example, as it was last met

    double n_, budget_, visits_ = 0;
    Drift<T> drift_;
    int searches_ = 0;
    double wanting_ = 0;    // what the last search said
    double accept_ = 1.45;  // of the tolerance, for a gap as a pass meets it: it leaves two thirds
    double gap_ = 0, primal_ = 0, violation_ = 0;
    Stall stall_{100, 0.01};  // searches, and what counts as a fall of the gap
    Certificate certificate_{};
};

}  // namespace polymargin
