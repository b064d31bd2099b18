// A group of examples, solved together:
//
//     max_beta D(beta)   over the listed dual variables of the group, all others fixed.
//
// What the group changes comes back to its scores through the Gram matrix of its rows,
//
//     f_ic = f_ic(at first) + sum_j G_ij delta_jc,     G_ij = x_i^T x_j,
//
// so that visits need neither rows nor weights: where these are too large for a cache, a dozen
// visits cost less than to read the weights once. The whole change is then lengthened a little,
// inside the bounds: successive over-relaxation, Mangasarian & Musicant (1999).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/block/change.hpp"
#include "polymargin/block/example.hpp"
#include "polymargin/duals.hpp"
#include "polymargin/linear/group/columns.hpp"
#include "polymargin/linear/group/pairs.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/random.hpp"

namespace polymargin {

template <class Rows>
class ExampleGroup {
public:
    using T = typename Rows::value_type;

    ExampleGroup(const LinearProblem<Rows>& problem, std::span<const T> norms, Duals<T>& duals)
        : problem_(problem),
          norms_(norms),
          duals_(duals),
          block_(problem.machine, problem.k),
          columns_(problem.rows.features()),
          pairs_(problem.k) {}

    // The examples, whose lists stay as they are until store() and have their own class where the
    // machine has a variable for it.
    void gather(std::span<const std::uint32_t> examples, int threads) {
        examples_ = examples;
        columns_.gather(problem_.rows, examples);
        multiply(threads);
        list();
    }

    std::size_t size() const { return examples_.size(); }
    const GroupColumns<T>& columns() const { return columns_; }
    const GroupPairs& pairs() const { return pairs_; }
    // By pair, to be filled before solve().
    std::span<T> scores() { return scores_; }

    // Visits the examples in random order, again and again, until little of their gap is left;
    // calls met(i, gap) with what the first visit of each finds.
    template <class Solver, class Met>
    void solve(Solver& solver, Random& random, double negligible, Met&& met) {
        order_.resize(size());
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        double first = 0;
        for (int s = 0; s < most_sweeps; ++s) {
            random.shuffle(std::span(order_));
            const double least =
                std::max(negligible, s ? 0.02 * first / static_cast<double>(size()) : 0);
            double gap = 0;
            for (std::size_t at = 0; at < size(); ++at) {
                const std::uint32_t e = order_[at];
                if (at + 1 < size()) prefetch_products(order_[at + 1]);
                const double part = visit(e, solver, least);
                gap += part;
                if (s == 0) met(examples_[e], part);
            }
            if (s == 0) first = gap;
            if (gap <= 0.1 * first) break;
        }
        for (std::size_t e = 0; e < size(); ++e) lengthen(e);
    }

    // Writes the dual variables back; what the weights have to change by, by example.
    void store() {
        changes_.clear();
        begin_.assign(1, 0);
        for (std::size_t e = 0; e < size(); ++e) {
            for (std::size_t p = pairs_.begin(e); p < pairs_.end(e); ++p) {
                const T delta = slots_[pairs_.slot(p)].delta;
                if (delta != 0) changes_.push_back({pairs_.c(p), delta, beta_[p]});
            }
            begin_.push_back(changes_.size());
            store(e);
        }
    }
    std::span<const Change<T>> changes(std::size_t e) const {
        return {changes_.data() + begin_[e], begin_[e + 1] - begin_[e]};
    }

private:
    static constexpr int most_sweeps = 5;
    static constexpr T longer = T(1.2);

    struct Slot {
        std::uint32_t e;
        T delta;  // of a_ec
    };

    // G, row by row.
    void multiply(int threads) {
        const std::size_t m = size();
        gram_.assign(m * m, T(problem_.bias));
        parallel_for(threads, m, [&](std::size_t e) {
            T* g = gram_.data() + e * m;
            for (const auto& [l, x] : columns_.row(e)) {
                for (const auto& [other, z] : columns_.column(l)) g[other] += x * z;
            }
        });
    }

    // A visit reads a row of G here and there, which no hardware foresees.
    void prefetch_products(std::size_t e) const {
        const T* g = gram_.data() + e * size();
        for (std::size_t at = 0; at < size(); at += 64 / sizeof(T)) __builtin_prefetch(g + at);
    }

    // The pairs that the dual variables list, and those of own classes, whose scores are needed.
    void list() {
        pairs_.clear();
        beta_.clear();
        const auto add = [&](std::int32_t c, T beta) {
            pairs_.add(c);
            beta_.push_back(beta);
        };
        for (const std::uint32_t i : examples_) {
            const std::int32_t y = problem_.labels[i];
            bool has_own = false;
            duals_.for_each_listed(i, [&](std::int32_t c, T beta) {
                add(c, beta);
                has_own |= c == y;
            });
            if (!has_own) add(y, T(0));
            pairs_.end_example();
        }
        pairs_.chain();
        before_ = beta_;
        scores_.resize(pairs_.size());
        slots_.resize(pairs_.size());
        for (std::size_t e = 0; e < size(); ++e) {
            for (std::size_t p = pairs_.begin(e); p < pairs_.end(e); ++p) {
                slots_[pairs_.slot(p)] = {static_cast<std::uint32_t>(e), T(0)};
            }
        }
    }

    // Returns the gap of the example as it was.
    template <class Solver>
    double visit(std::size_t e, Solver& solver, double negligible) {
        const std::uint32_t i = examples_[e];
        const std::size_t begin = pairs_.begin(e), count = pairs_.end(e) - begin;
        const T* g = gram_.data() + e * size();
        std::size_t own = 0;
        block_.restrict_to(static_cast<int>(count));
        for (std::size_t at = 0; at < count; ++at) {
            const auto chain = pairs_.chain(begin + at);
            T score = scores_[begin + at];
            for (std::uint32_t s = chain.begin; s < chain.end; ++s) {
                score += g[slots_[s].e] * slots_[s].delta;
            }
            block_.scores()[at] = score;
            block_.beta()[at] = beta_[begin + at];
            if (pairs_.c(begin + at) == problem_.labels[i]) own = at;
        }
        const State state =
            block_.prepare(static_cast<std::int32_t>(own), norms_[i], T(problem_.upper[i]), T(0));
        if (!state.moves || state.gap <= negligible) return state.gap;

        const auto& move = block_.solve(solver);
        const auto change = [&](std::size_t at, T delta, T beta) {
            slots_[pairs_.slot(begin + at)].delta += delta;
            beta_[begin + at] = beta;
        };
        if (move.dense) {
            for (std::size_t at = 0; at < count; ++at) {
                const T delta = block_.delta()[at];
                if (delta != 0 && at != own) change(at, delta, block_.new_beta()[at]);
            }
        } else {
            for (const auto& [at, delta, beta] : block_.changes()) change(at, delta, beta);
        }
        change(own, move.own_change, problem_.machine.has_own ? move.beta_own : T(0));
        return state.gap;
    }

    // beta <- beta(at first) + longer (beta - beta(at first)), inside its bounds. In a simplex the
    // whole step of an example is shorter where it would leave it.
    void lengthen(std::size_t e) {
        const Machine& machine = problem_.machine;
        const std::uint32_t i = examples_[e];
        const std::int32_t y = problem_.labels[i];
        const std::size_t begin = pairs_.begin(e), end = pairs_.end(e);
        T step = longer;
        if (machine.simplex()) {
            T sum = 0, rise = 0;
            for (std::size_t p = begin; p < end; ++p) {
                const T change = beta_[p] - before_[p];
                if (change < 0) step = std::min(step, before_[p] / -change);
                sum += before_[p];
                rise += change;
            }
            if (rise > 0) step = std::min(step, (T(problem_.upper[i]) - sum) / rise);
            if (!(step > 1)) return;
        }
        std::size_t own = begin;
        while (pairs_.c(own) != y) ++own;
        for (std::size_t p = begin; p < end; ++p) {
            const T change = beta_[p] - before_[p];
            if (change == 0) continue;
            const T most = T(machine.upper(p == own, problem_.upper[i]));
            const T next = std::clamp(before_[p] + step * change, T(0), most);
            machine.for_each_alpha(y, pairs_.c(p), next - beta_[p], [&](std::int32_t c, T delta) {
                slots_[pairs_.slot(c == y ? own : p)].delta += delta;
            });
            beta_[p] = next;
        }
    }

    void store(std::size_t e) {
        const std::uint32_t i = examples_[e];
        const std::size_t begin = pairs_.begin(e);
        if (duals_.listed(i)) {
            const std::span<DualEntry<T>> listed = duals_.list(i);
            for (std::size_t at = 0; at < listed.size(); ++at) listed[at].value = beta_[begin + at];
            return;
        }
        entries_.clear();
        for (std::size_t p = begin; p < pairs_.end(e); ++p) {
            const bool is_own = pairs_.c(p) == problem_.labels[i];
            if (beta_[p] != 0 || (is_own && problem_.machine.has_own)) {
                entries_.push_back({pairs_.c(p), beta_[p]});
            }
        }
        duals_.assign(i, entries_);
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    Duals<T>& duals_;
    ExampleBlock<T> block_;
    GroupColumns<T> columns_;
    GroupPairs pairs_;

    std::span<const std::uint32_t> examples_;
    std::vector<T> gram_;                    // by example and example
    std::vector<T> scores_, beta_, before_;  // by pair
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> order_;
    std::vector<Change<T>> changes_;
    std::vector<std::size_t> begin_;  // of the changes of each example
    std::vector<DualEntry<T>> entries_;
};

}  // namespace polymargin
