// Dual coordinate descent on the candidates of one class (state.hpp): one variable after the other
// goes to its optimum,
//
//     beta_i <- clip(beta_i + g_i / |x_i|^2, 0, u_i),
//
// with the weights of the class at hand, in double: they are the sum of many small steps. After a
// pass over all candidates follow passes over those with more than a small part of the gap.
//
// Hsieh et al. (2008), algorithms 1 and 3, with the gap in place of the projected gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/linear/by_class/state.hpp"
#include "polymargin/random.hpp"

namespace polymargin {

// With the memory it needs: one per thread.
template <class Rows>
class ClassSolver {
public:
    using T = typename Rows::value_type;

    ClassSolver(const LinearProblem<Rows>& problem, std::span<const T> norms)
        : problem_(problem),
          norms_(norms),
          w_(problem.features()),
          scratch_(problem.rows.scratch_size()) {}

    // What the descent met: sums over candidates, each at its last visit.
    struct Met {
        double gap = 0, loss = 0, squared_norm = 0, violation = 0;
        double primal() const { return 0.5 * squared_norm + loss; }
    };

    // Until enough(met), or for as long as that is worth it. The weights stay until clear().
    template <class Enough, class Interrupted>
    void operator()(std::int32_t c, std::vector<Candidate<T>>& candidates, Random random,
                    Enough&& enough, Interrupted&& interrupted) {
        const ClassProblem<Rows> one{problem_, c};
        load(one, candidates);
        const std::size_t count = candidates.size();
        order_.resize(count);
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        gaps_.assign(count, 0);
        for (int round = 0; round < most_rounds; ++round) {
            const Met all = pass(one, candidates, order_, random, interrupted);
            if (interrupted() || enough(all)) break;
            const auto least = static_cast<float>(0.2 * all.gap / static_cast<double>(count));
            const auto end = std::partition(order_.begin(), order_.end(),
                                            [&](std::uint32_t at) { return gaps_[at] > least; });
            const std::span active(order_.begin(), end);
            for (int inner = 0; inner < most_inner && !active.empty(); ++inner) {
                const Met some = pass(one, candidates, active, random, interrupted);
                if (interrupted() || some.gap < 0.2 * all.gap) break;
            }
        }
    }

    // The bias is behind the features.
    std::span<const double> weights() const { return w_; }
    void clear() { std::fill(w_.begin(), w_.end(), 0.0); }

private:
    static constexpr int most_rounds = 20, most_inner = 8;

    void load(const ClassProblem<Rows>& one, std::span<const Candidate<T>> candidates) {
        for (const auto& [i, beta] : candidates) {
            if (beta != 0) add(problem_.rows.row(i, scratch_.data()), one.sign(i) * double(beta));
        }
    }

    template <class Interrupted>
    Met pass(const ClassProblem<Rows>& one, std::span<Candidate<T>> candidates,
             std::span<std::uint32_t> order, Random& random, Interrupted&& interrupted) {
        Met met;
        random.shuffle(order);
        for (std::size_t at = 0; at < order.size(); ++at) {
            if (at + 2 < order.size()) {
                problem_.rows.prefetch_contents(candidates[order[at + 2]].i);
            }
            gaps_[order[at]] = visit(one, candidates[order[at]], met);
            if (at % 1024 == 1023 && interrupted()) break;
        }
        return met;
    }

    // Returns the part of the gap that the visit found.
    float visit(const ClassProblem<Rows>& one, Candidate<T>& candidate, Met& met) {
        const std::uint32_t i = candidate.i;
        if (!one.has_variable(i)) return 0;
        const auto row = problem_.rows.row(i, scratch_.data());
        const double sign = one.sign(i), upper = one.upper(i), before = candidate.beta;
        const double f = score(row), g = one.margin(i) - sign * f;
        const double loss = upper * std::max(0.0, g);
        const double gap = loss - before * g;
        met.gap += gap;
        met.loss += loss;
        met.squared_norm += sign * before * f;
        if ((g > 0 && before < upper) || (g < 0 && before > 0)) {
            const double q = norms_[i];
            const double free = q > 0 ? before + g / q : g > 0 ? upper : 0;
            candidate.beta = T(std::clamp(free, 0.0, upper));
            if (candidate.beta != T(before)) {
                met.violation = std::max(met.violation, std::abs(g));
                add(row, sign * (double(candidate.beta) - before));
            }
        }
        return static_cast<float>(gap);
    }

    // The row by value: a reference might alias the weights.
    double score(const RowOf<Rows> row) const {
        const double* w = w_.data();
        double sums[4]{};
        std::size_t p = 0;
        for (; p + 4 <= row.size(); p += 4) {
#pragma GCC unroll 4
            for (int way = 0; way < 4; ++way) {
                sums[way] += row.value(p + way) * w[row.index(p + way)];
            }
        }
        for (; p < row.size(); ++p) sums[0] += row.value(p) * w[row.index(p)];
        const double bias = problem_.bias ? w_.back() : 0;
        return bias + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }

    void add(const RowOf<Rows> row, double a) {
        double* w = w_.data();
        for (std::size_t p = 0; p < row.size(); ++p) w[row.index(p)] += a * row.value(p);
        if (problem_.bias) w_.back() += a;
    }

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    std::vector<double> w_;
    std::vector<T> scratch_;
    std::vector<std::uint32_t> order_;  // of the candidates
    std::vector<float> gaps_;           // of each candidate, at its last visit
};

}  // namespace polymargin
