// The loop around solvers that change one example or two at a time: checks of the whole problem,
// the stopping rule, the budget, interrupts.
//
//     max_beta D(beta)  over the variables of all examples, their box or simplex as in machine.hpp
//
// A solver advances by steps and says when nothing moves any more. About every n steps the
// certificate of the whole problem is computed in double from scores that are all up to date.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "polymargin/fit/goal.hpp"
#include "polymargin/fit/stall.hpp"
#include "polymargin/fit/watch.hpp"
#include "polymargin/kernel/scored_duals.hpp"

namespace polymargin {

struct DecompositionOutcome {
    Certificate certificate;
    std::int64_t steps;
    bool converged;
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
DecompositionOutcome decompose(const Goal& goal, const ScoredDuals<T>& state, Solver& solver,
                               const Observer& observer) {
    Watch watch(observer);
    Stall stall(100, std::max(double(std::numeric_limits<T>::epsilon()) / 64, 1e-15));
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
