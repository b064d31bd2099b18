// One-vs-rest (OVR) by a solver for CS, one class against all others at a time: Crammer & Singer
// (2001), section 8, train the machine they compare with so.
//
//     P = sum_c P_c,   P_c = 1/2 |w_c|^2 + sum_i C_i max(0, 1 - s_ic w_c^T x_i),   s_ic = 1 for
//                      c = y_i, else -1
//
// With two classes the weights of CS are w_1 = -w_0, and with bounds of C_i/2 its problem is that
// of w_c = w_1 - w_0: P_c = 2 P_CS, D_c = 2 D_CS, beta_ic = 2 beta_CS. The kernel rows are those of
// all classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/kernel/decomposition.hpp"
#include "polymargin/kernel/row_cache.hpp"
#include "polymargin/kernel/scored_duals.hpp"
#include "polymargin/machines/cs.hpp"

namespace polymargin {

template <class T>
class OneVsRest {
public:
    using Solve = std::function<DecompositionOutcome(ScoredDuals<T>&, const Observer&)>;

    OneVsRest(const KernelProblem<T>& problem, const Duals<T>& start, RowCache<T>& rows)
        : problem_(problem),
          rows_(rows),
          beta_(problem.size() * problem.k),
          labels_(problem.size()),
          half_(problem.size()),
          two_classes_{labels_, half_, problem.diagonal, 2, machines::cs} {
        for (std::size_t i = 0; i < problem.size(); ++i) {
            start.for_each(i, [&](std::int32_t c, T value) { beta(i, c) = value; });
            half_[i] = problem.upper[i] / 2;
            total_ += problem.upper[i];
        }
    }

    static bool defined_for(const Machine& machine) {
        return machine.separable() && machine.has_own && machine.has_others;
    }

    // Solves the classes one after the other, each in as many passes as the goal allows; the passes
    // of the result are those of the slowest. Records are of all classes together, those not yet
    // begun taken at w = 0, their epochs a mean over the classes.
    DecompositionOutcome run(const Goal& goal, const Observer& observer, const Solve& solve) {
        const double n = static_cast<double>(problem_.size()), k = problem_.k;
        DecompositionOutcome all{{0, 0, 0}, 0, false};
        bool stopped = false;
        double seconds = 0, steps = 0;
        const auto add = [&](const Certificate& one) {
            return Certificate{all.certificate.primal + 2 * one.primal,
                               all.certificate.dual + 2 * one.dual,
                               std::max(all.certificate.violation, one.violation)};
        };
        for (int c = 0; c < problem_.k; ++c) {
            begin(c);
            const double before = seconds, left = k - 1 - c;
            const auto on_check = [&](Record record) {
                Certificate now = add({record.primal, record.dual, record.violation});
                now.primal += left * total_;
                record.primal = now.primal;
                record.dual = now.dual;
                record.violation = left > 0 ? std::max(1.0, now.violation) : now.violation;
                record.gap = goal.has_gap ? now.gap() : record.gap;
                record.epoch = (steps / n + record.epoch) / k;
                record.seconds = seconds = before + record.seconds;
                stopped = (observer.on_check && observer.on_check(record)) || stopped;
                return stopped;
            };
            const auto interrupted = [&] {
                return stopped = stopped || (observer.interrupted && observer.interrupted());
            };
            const DecompositionOutcome one = stopped
                                                 ? DecompositionOutcome{state_->check(), 0, false}
                                                 : solve(*state_, {on_check, interrupted});
            store(c);
            steps += static_cast<double>(one.steps);
            all = {add(one.certificate), std::max(all.steps, one.steps), false};
        }
        all.converged = goal.reached(all.certificate);
        return all;
    }

    // As they are now, also while a class is being solved.
    Duals<T> duals() {
        if (state_) store(now_);
        Duals<T> duals(problem_.size(), problem_.k);
        std::vector<DualEntry<T>> entries;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            entries.clear();
            for (int c = 0; c < problem_.k; ++c) {
                if (beta(i, c) != 0) entries.push_back({c, beta(i, c)});
            }
            duals.assign(i, entries);
        }
        return duals;
    }

private:
    T& beta(std::size_t i, int c) { return beta_[i * problem_.k + c]; }

    // The variable of example i in the problem of two classes.
    std::int32_t other(std::size_t i) const { return 1 - labels_[i]; }

    void begin(int c) {
        const std::size_t n = problem_.size();
        now_ = c;
        for (std::size_t i = 0; i < n; ++i) labels_[i] = problem_.labels[i] == c;
        Duals<T> start(n, 2);
        for (std::size_t i = 0; i < n; ++i) start.flat_row(i)[other(i)] = beta(i, c) / 2;
        state_ = std::make_unique<ScoredDuals<T>>(two_classes_, start);
        std::vector<std::uint32_t> all(n);
        std::iota(all.begin(), all.end(), std::uint32_t{0});
        if (start.nonzeros() > 0) state_->recompute(all, rows_);
    }

    void store(int c) {
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            beta(i, c) = 2 * state_->beta(i, other(i));
        }
    }

    const KernelProblem<T>& problem_;
    RowCache<T>& rows_;
    std::vector<T> beta_;  // by example
    std::vector<std::int32_t> labels_;
    std::vector<double> half_;  // C_i/2
    double total_ = 0;          // sum_i C_i
    KernelProblem<T> two_classes_;
    std::unique_ptr<ScoredDuals<T>> state_;
    int now_ = 0;
};

}  // namespace polymargin
