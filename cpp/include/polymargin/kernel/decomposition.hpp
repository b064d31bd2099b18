// The loop around solvers that change one example or two at a time: checks of the whole problem,
// the stopping rule, the budget, interrupts.
//
//     max_beta D(beta)  over the variables of all examples, their box or simplex as in machine.hpp
//
// A solver advances by steps and says when nothing moves any more. About every n steps the
// certificate of the whole problem is computed in double from scores that are all up to date.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "polymargin/kernel/scored_duals.hpp"
#include "polymargin/linear/problem.hpp"

namespace polymargin {

struct DecompositionGoal {
    double tol = 1e-3;
    std::int64_t max_iter = 1000;  // passes: n steps each
    Stopping stopping = Stopping::gap;
    bool has_gap = true;  // false where the objectives bound nothing: the kernel is indefinite
    bool record_passes = false;  // a record after every n steps in place of one for every check

    bool by_gap() const { return has_gap && stopping == Stopping::gap; }
    bool reached(const Certificate& certificate) const {
        return (by_gap() ? certificate.gap() : certificate.violation) <= tol;
    }
};

struct DecompositionOutcome {
    Certificate certificate;
    std::int64_t steps;
    bool converged;
};

// Time, and whether the caller wants to stop: asked for at most ten times a second.
class Watch {
public:
    explicit Watch(const Observer& observer) : observer_(observer) {}

    double seconds() const {
        const auto passed = std::chrono::steady_clock::now() - start_;
        return std::chrono::duration<double>(passed).count() - paused_;
    }
    // Calls body while the clock stands still.
    template <class Body>
    auto paused(Body&& body) {
        const double before = seconds();
        const auto result = body();
        paused_ += seconds() - before;
        return result;
    }
    bool interrupted() {
        if (stopped_ || !observer_.interrupted) return stopped_;
        if (const double now = seconds(); now >= next_) {
            next_ = now + 0.1;
            stopped_ = observer_.interrupted();
        }
        return stopped_;
    }
    void record(const Record& record) {
        stopped_ = (observer_.on_check && observer_.on_check(record)) || stopped_;
    }

private:
    const Observer& observer_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double next_ = 0.1, paused_ = 0;
    bool stopped_ = false;
};

// No progress for many checks: the limit of the precision.
class Stall {
public:
    explicit Stall(double least) : least_(least) {}

    bool operator()(double dual) {
        if (dual > best_ + least_ * std::abs(best_) || best_ == never) {
            best_ = dual;
            since_ = 0;
        } else {
            ++since_;
        }
        return since_ >= patience;
    }

private:
    static constexpr int patience = 100;
    static constexpr double never = -std::numeric_limits<double>::infinity();
    double least_, best_ = never;
    int since_ = 0;
};

struct Advance {
    std::int64_t taken, moved;  // steps, and those that changed anything
};

// A solver has
//     Advance advance(limit, enough, watch)   at most `limit` steps, fewer where the largest
//                                             violation it sees is `enough`
//     double violation()                      the largest that the last step saw
//     std::int64_t active(), bool whole()     how many examples it looks at, whether all
//     void complete()                         brings all scores up to date, looks at all again
//     Certificate certificate()               of the whole problem, without a change of its path
template <class T, class Solver>
DecompositionOutcome decompose(const DecompositionGoal& goal, const ScoredDuals<T>& state,
                               Solver& solver, const Observer& observer) {
    Watch watch(observer);
    Stall stall(std::max(double(std::numeric_limits<T>::epsilon()) / 64, 1e-15));
    const auto n = static_cast<std::int64_t>(state.size());
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / n;
    const std::int64_t budget = n * std::min(goal.max_iter, most);
    const double enough = goal.by_gap() ? 0 : goal.tol;
    std::int64_t steps = 0;
    const auto record = [&](const Certificate& certificate, std::int64_t active) {
        const double gap = goal.has_gap ? certificate.gap() : std::nan("");
        watch.record({double(steps) / double(n), watch.seconds(), certificate.primal,
                      certificate.dual, gap, certificate.violation, active});
    };
    for (bool moves = true;;) {
        const std::int64_t active = solver.active();
        solver.complete();
        const Certificate certificate = state.check();
        const bool converged = goal.reached(certificate);
        if (!goal.record_passes) record(certificate, active);
        if (converged || watch.interrupted() || !moves || steps >= budget ||
            stall(certificate.dual)) {
            if (goal.record_passes && steps == 0) record(certificate, active);
            return {certificate, steps, converged};
        }
        // While some examples are left out, those that are not tell when a check is worth it.
        const std::int64_t start = steps;
        moves = false;
        while (true) {
            const std::int64_t limit = std::min(n, budget - steps);
            const auto [taken, moved] = solver.advance(limit, enough, watch);
            steps += taken;
            moves = moves || moved > 0;
            if (goal.record_passes && taken > 0) {
                record(watch.paused([&] { return solver.certificate(); }), solver.active());
            }
            if (taken < limit || solver.whole() || watch.interrupted() || steps >= budget ||
                steps - start >= 10 * n || solver.violation() <= 0.1 * certificate.violation ||
                goal.reached(state.check())) {
                break;
            }
        }
    }
}

}  // namespace polymargin
