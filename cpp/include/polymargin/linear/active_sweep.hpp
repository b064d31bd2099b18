// Sweeps over the examples that are active. One whose variables all sit at their bounds, with
// gradients well beyond the mean gap, leaves the active set until all are looked at again.
//
// Most of the gap is often that of few examples, which contradict each other and move by little at
// each visit. Cheap sweeps go where it was met, as long as a look at all would cost more.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "polymargin/linear/active_set.hpp"
#include "polymargin/linear/idle.hpp"
#include "polymargin/linear/look.hpp"
#include "polymargin/linear/sweep.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class ActiveSweep {
public:
    using T = typename Rows::value_type;

    // `reach` is that of Sweep.
    ActiveSweep(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
                Store& weights, const LinearOptions& options, T reach = 1)
        : problem_(problem),
          duals_(duals),
          weights_(weights),
          options_(options),
          examples_(problem.size(), options.seed),
          sweep_(problem, norms, duals, weights, options, reach) {}

    std::size_t size() const { return examples_.size(); }
    std::span<const std::uint32_t> active() const { return examples_.active(); }
    Visitor<Rows, Store>& visitor() { return sweep_.visitor(); }

    struct Met {
        double gap;          // of the examples as they were met
        std::size_t visits;  // planned; an interrupt comes in between
    };

    // Visits the active examples once, at most so many, in random order. A block whose own gap is
    // not above `negligible` is left as it is.
    template <class Interrupted>
    Met run(std::size_t most, double negligible, Interrupted&& interrupted) {
        begin();
        const std::size_t visits = std::min(size(), most);
        const double gap = visit(0, visits, false, negligible, interrupted);
        end(visits == size(), false);
        return {gap, visits};
    }

    // A cheap sweep between those: visits the active examples that had much of the gap when they
    // were last met, those with most of it in full and of the others the listed classes. Returned
    // is the gap of all active examples as they were last met.
    template <class Interrupted>
    Met run_listed(std::size_t most, double negligible, Interrupted&& interrupted) {
        examples_.shuffle();
        double all = 0;
        for (const std::uint32_t i : active()) all += gaps_[i];
        const double mean = all / static_cast<double>(size());
        chosen_.clear();
        for (const std::uint32_t i : active()) {
            if (gaps_[i] > good_part * mean && chosen_.size() < most) chosen_.push_back(i);
        }
        Plan plan = make_plan(true, negligible);
        plan.gaps = gaps_.data();
        plan.most = static_cast<float>(large_part * mean);
        sweep_.run(chosen_, plan, [&](std::size_t at, const State& state) {
            float& gap = gaps_[chosen_[at]];
            all += state.gap - gap;
            gap = static_cast<float>(state.gap);
            return interrupted(at);
        });
        return {all, chosen_.size()};
    }

    // The same in parts: begin(), visits to the active examples in the order that has been drawn,
    // from first to last, and end().
    void begin() {
        if (problem_.machine.zero_sum && !duals_.flat()) weights_.centre();
        examples_.shuffle();
        examples_.begin_choice();
        gap_ = weight_ = 0;
    }
    template <class Interrupted>
    double visit(std::size_t first, std::size_t last, bool listed, double negligible,
                 Interrupted&& interrupted) {
        double gap = 0;
        sweep_.run(examples_.active().subspan(first, last - first), make_plan(listed, negligible),
                   [&](std::size_t place, const State& state) {
                       const std::size_t at = first + place;
                       gap += state.gap;
                       gaps_[examples_[at]] = static_cast<float>(state.gap);
                       weight_ += problem_.upper[examples_[at]];
                       if (idle_) {
                           const bool has_moved = state.moves && state.gap > negligible;
                           idle_->note(examples_[at], has_moved, duals_);
                       }
                       if (!(options_.shrinking && state.stable)) examples_.keep(at);
                       return interrupted(at);
                   });
        gap_ += gap;
        return gap;
    }
    void end(bool whole, bool listed) {
        if (listed) return;
        if (whole) examples_.end_choice();
        if (weight_ > 0) threshold_ = T(0.5 * gap_ / weight_);  // none may be active
    }

    // Those of Sweep from now on.
    void set_relaxation(T relaxation) { relaxation_ = relaxation; }
    void set_reach(T reach) { sweep_.set_reach(reach); }

    // Looks at every example without moving it, and chooses the active ones anew unless that was
    // interrupted.
    template <class Interrupted>
    Look look(Interrupted&& interrupted) {
        bool stopped = false;
        Look look = look_at_all(sweep_, examples_, threshold_, options_.threads,
                                [&](std::size_t at) { return stopped = interrupted(at); });
        if (stopped) return look;
        examples_.begin_choice();
        for (std::size_t at = 0; at < look.stable.size(); ++at) {
            if (!(options_.shrinking && look.stable[at])) examples_.keep(at);
        }
        examples_.end_choice();
        return look;
    }

    // All examples become active, but for those that are idle.
    void take_back() {
        examples_.begin_choice();
        for (std::size_t at = 0; at < examples_.all().size(); ++at) {
            if (!(idle_ && idle_->leaves_out(examples_[at]))) examples_.keep(at);
        }
        examples_.end_choice();
    }

    // Leaves out idle variables from now on.
    void watch(IdleVariables& idle) { idle_ = &idle; }

private:
    using Plan = typename Sweep<Rows, Store>::Plan;

    static constexpr double good_part = 0.4, large_part = 3;  // of the mean gap of an example

    Plan make_plan(bool listed, double negligible) const {
        return {.listed = listed,
                .threshold = threshold_,
                .near = std::isinf(threshold_) ? T(0) : threshold_ / 10,
                .negligible = negligible,
                .idle = idle_,
                .relaxation = relaxation_};
    }

    const LinearProblem<Rows>& problem_;
    Duals<T>& duals_;
    Store& weights_;
    const LinearOptions& options_;
    ActiveSet examples_;
    Sweep<Rows, Store> sweep_;
    IdleVariables* idle_ = nullptr;  // null: none is left out
    T threshold_ = std::numeric_limits<T>::infinity();
    T relaxation_ = 1;
    std::vector<float> gaps_ = std::vector<float>(problem_.size());  // as they were last met
    std::vector<std::uint32_t> chosen_;                              // of a cheap sweep
    double gap_ = 0, weight_ = 0;  // of the examples that a sweep has met
};

}  // namespace polymargin
