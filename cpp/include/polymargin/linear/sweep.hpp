// A sweep: examples are visited one after the other, each block solved against the weights as the
// visits before left them.
//
// On several threads, rounds of a few dozen examples are solved against the same weights; then
// each thread adds what the whole round changed to the classes it owns. Nobody reads what another
// writes, and the result does not depend on the number of threads or their timing. Examples of one
// round that share features overshoot together, so a round is no longer than the inverse of their
// mean overlap, and where that makes it too short for threads, the sweep stays on one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "polymargin/block/solver.hpp"
#include "polymargin/linear/idle.hpp"
#include "polymargin/linear/listed_visitor.hpp"
#include "polymargin/linear/update.hpp"
#include "polymargin/linear/visitor.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class Sweep {
public:
    using T = typename Rows::value_type;

    struct Plan {
        bool listed;                          // only the listed classes, where a list is short
        T threshold;                          // of a stable example
        T near;                               // classes this far from being positive are listed
        double negligible;                    // a block with a smaller gap is not solved
        const IdleVariables* idle = nullptr;  // variables that are left out
        T relaxation = 1;                     // that of Visitor
        // By example: one with more than `most` is looked at in full all the same.
        const float* gaps = nullptr;
        float most = 0;
    };

    // The weights take `reach` times what a visit changes: U += reach x delta^T.
    Sweep(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals,
          Store& weights, const LinearOptions& options, T reach = 1)
        : problem_(problem), norms_(norms), duals_(duals), weights_(weights), reach_(reach) {
        for (int t = 0; t < options.threads; ++t) {
            workers_.push_back(Worker{{problem, norms, duals, weights},
                                      {problem, norms, duals, weights},
                                      BlockSolver<T>(options.block, options.seed + t)});
        }
        if (options.threads > 1) choose_round(options.shared_from);
    }

    void set_reach(T reach) { reach_ = reach; }

    Visitor<Rows, Store>& visitor(int thread = 0) { return workers_[thread].visitor; }

    // Visits the examples in this order and calls each(position, state) for one after the other,
    // which returns true to stop.
    template <class Each>
    void run(std::span<const std::uint32_t> examples, const Plan& plan, Each&& each) {
        if (threads_ > 1 && examples.size() >= 16 * round_) {
            run_rounds(examples, plan, each);
            return;
        }
        Update<Rows> update(problem_.k);
        for (std::size_t at = 0; at < examples.size(); ++at) {
            look_ahead(examples, at, 1);
            if (at + 1 < examples.size()) prefetch_weights(examples[at + 1], plan);
            const State state = visit(workers_[0], examples[at], plan, update);
            update.apply(weights_, weights_.whole());
            if (each(at, state)) return;
        }
    }

    // Asks for the memory of examples that come some visits later: first for what is found by
    // their number, then for what that points to. Inlined, or GCC sees a function without effect
    // and drops its calls.
    [[gnu::always_inline]] void look_ahead(std::span<const std::uint32_t> examples, std::size_t at,
                                           std::size_t step) const {
        const std::size_t next = at + 4 * step, later = at + 8 * step;
        if (next < examples.size()) {
            problem_.rows.prefetch_contents(examples[next]);
            duals_.prefetch_contents(examples[next]);
        }
        if (later < examples.size()) {
            const std::uint32_t i = examples[later];
            problem_.rows.prefetch(i);
            duals_.prefetch(i);
            __builtin_prefetch(&norms_[i]);
            __builtin_prefetch(&problem_.upper[i]);
            __builtin_prefetch(&problem_.labels[i]);
        }
    }

private:
    static constexpr std::size_t longest_round = 64, shortest_round = 16;

    struct Worker {
        Visitor<Rows, Store> visitor;
        ListedVisitor<Rows, Store> listed;
        BlockSolver<T> solver;
    };

    // mean_ij |x_i|^T |x_j| / (|x_i| |x_j|) over pairs of a sample.
    double mean_overlap() const {
        const std::size_t n = problem_.size(), count = std::min<std::size_t>(n, 256);
        std::vector<double> sum(problem_.features());
        std::vector<T> scratch(problem_.rows.scratch_size());
        for (std::size_t s = 0; s < count; ++s) {
            const std::size_t i = s * n / count;
            if (norms_[i] == 0) continue;
            const double scale = 1 / std::sqrt(double(norms_[i]));
            const auto row = problem_.rows.row(i, scratch.data());
            for (std::size_t p = 0; p < row.size(); ++p) {
                sum[row.index(p)] += scale * std::abs(double(row.value(p)));
            }
            if (problem_.bias) sum.back() += scale;
        }
        double square = 0;
        for (const double value : sum) square += value * value;
        const double pairs = static_cast<double>(count) * static_cast<double>(count - 1);
        return std::max(0.0, square - static_cast<double>(count)) / std::max(1.0, pairs);
    }

    void choose_round(double shared_from) {
        const double overlap = mean_overlap();
        round_ =
            overlap * longest_round > 1 ? static_cast<std::size_t>(1 / overlap) : longest_round;
        // Weights that one thread has written are slow to read for another. That pays where a
        // visit reads much more than it writes, among many classes, and the sweeps are long.
        const double variables = static_cast<double>(problem_.size()) * problem_.k;
        const bool pays =
            !duals_.flat() && variables >= shared_from && problem_.rows.scratch_size() == 0;
        threads_ =
            round_ >= shortest_round && pays ? std::min(workers_.size(), weights_.slices()) : 1;
    }

    // Of the example that comes next.
    [[gnu::always_inline]] void prefetch_weights(std::uint32_t i, const Plan& plan) const {
        constexpr bool asks = requires { weights_.prefetch(problem_.rows.row(i, nullptr)); };
        if constexpr (Rows::is_sparse && asks) {
            const auto row = problem_.rows.row(i, nullptr);
            if (looks_at_list(i, plan)) {
                weights_.prefetch(row, duals_.list(i));
            } else {
                weights_.prefetch(row);
            }
        }
    }

    // Whether only the listed classes of an example are looked at.
    bool looks_at_list(std::size_t i, const Plan& plan) const {
        const bool may = plan.listed ? !(plan.gaps && plan.gaps[i] > plan.most)
                                     : plan.idle && plan.idle->leaves_out_unlisted(i);
        return may && workers_[0].listed.pays(i);
    }

    State visit(Worker& worker, std::size_t i, const Plan& plan, Update<Rows>& update) {
        const State state = improve(worker, i, plan, update);
        if (reach_ != 1) update.scale(reach_);
        return state;
    }

    State improve(Worker& worker, std::size_t i, const Plan& plan, Update<Rows>& update) {
        auto& [visitor, listed, solver] = worker;
        update.kind = Update<Rows>::Kind::none;
        if (looks_at_list(i, plan)) {
            const State state = listed.prepare(i, plan.threshold, plan.relaxation);
            if (state.moves && state.gap > plan.negligible) listed.improve(solver, update);
            return state;
        }
        const State state = visitor.prepare(i, plan.threshold, plan.relaxation);
        if (state.moves && state.gap > plan.negligible) {
            visitor.improve(solver, plan.near, update);
        } else {
            visitor.discard();
        }
        return state;
    }

    template <class Each>
    void run_rounds(std::span<const std::uint32_t> examples, Plan plan, Each&& each) {
        plan.relaxation = (1 + plan.relaxation) / 2;  // those of a round do not answer each other
        const std::size_t threads = threads_, round = round_;
        std::vector<Update<Rows>> updates(round, Update<Rows>(problem_.k));
        std::vector<State> states(round);
        Barrier barrier(threads);
        std::exception_ptr failure;
        std::mutex mutex;
        const auto guarded = [&](auto&& body) {
            try {
                body();
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        };
        bool stop = false;  // set by the first thread alone, between the barriers
        run_crew(threads, [&](std::size_t t) {
            const auto slice = weights_.slice(t, threads);
            for (std::size_t begin = 0; begin < examples.size() && !stop; begin += round) {
                const std::size_t count = std::min(round, examples.size() - begin);
                guarded([&] {
                    for (std::size_t slot = t; slot < count; slot += threads) {
                        look_ahead(examples, begin + slot, threads);
                        states[slot] =
                            visit(workers_[t], examples[begin + slot], plan, updates[slot]);
                    }
                });
                barrier.wait();
                for (std::size_t slot = 0; slot < count; ++slot) {
                    updates[slot].apply(weights_, slice);
                }
                if (t == 0) {
                    guarded([&] {
                        for (std::size_t slot = 0; slot < count && !stop; ++slot) {
                            stop = each(begin + slot, states[slot]);
                        }
                    });
                    stop = stop || failure;
                }
                barrier.wait();
            }
        });
        if (failure) std::rethrow_exception(failure);
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    Store& weights_;
    T reach_;
    std::vector<Worker> workers_;
    std::size_t threads_ = 1, round_ = 1;
};

}  // namespace polymargin
