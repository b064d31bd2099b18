// The best multiple of the weights: s >= 1 with the lowest P(s U).
//
// Where C is large, the loss of margins that are short by little is most of the gap, and the norm
// is off by much less. Weights that are longer by little have no such loss. s U is a primal point
// like any other, and it predicts what U does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

struct Multiple {
    double scale = 1, primal = 0;
};

// 1 + 2^-2, 1 + 2^-3, ..., 1.
constexpr auto multiples() {
    std::array<double, 16> scales{};
    double more = 0.25;
    for (double& s : scales) s = 1 + more, more /= 2;
    scales.back() = 1;
    return scales;
}

// Adds C L(s f) for all multiples s to `losses`; the scores are centred where the machine is
// zero-sum, and padded.
inline void add_losses(const Machine& machine, int k, std::int32_t y, double C,
                       std::span<const double> scales, std::vector<double>& scores,
                       std::span<CompensatedSum> losses) {
    constexpr double never = -std::numeric_limits<double>::infinity();
    const double own_score = scores[y];
    scores[y] = never;
    std::fill(scores.begin() + k, scores.end(), never);
    for (std::size_t at = 0; at < scales.size(); ++at) {
        const double s = scales[at];
        const auto [other, own] = machine.gradients(s * own_score, 0.0, k);
        simd::Sum<double> sum;
        simd::Largest<double> top(0);
        if (machine.has_others) {
            simd::for_each_pack<double>(scores.size(), [&]<class P>(std::size_t c, P) {
                const P g = s * simd::load<P>(scores.data() + c) + other;
                sum.add(simd::max(g, P{}));
                top.add(g);
            });
        }
        const double hinge = machine.has_own ? std::max(0.0, own) : 0.0;
        losses[at] += C * (machine.simplex()
                               ? std::max(top.value(), hinge)
                               : machine.weight_other * sum.value() + machine.weight_own * hinge);
    }
}

// Of weights that are centred where the machine is zero-sum.
template <class Rows, WeightStore Store>
Multiple best_multiple(const LinearProblem<Rows>& problem, const Store& weights,
                       std::span<const double> scales, int threads) {
    using Losses = std::vector<CompensatedSum>;
    const std::size_t n = problem.size();
    const std::size_t parts = std::min<std::size_t>(n, threads > 1 ? 8 * threads : 1);
    std::vector<Losses> losses(parts, Losses(scales.size()));
    parallel_for(threads, parts, [&](std::size_t part) {
        std::vector<typename Rows::value_type> scratch(problem.rows.scratch_size());
        std::vector<double> scores(simd::padded<double>(problem.k));
        for (std::size_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
            weights.scores_in_double(problem.rows.row(i, scratch.data()), scores.data());
            add_losses(problem.machine, problem.k, problem.labels[i], problem.upper[i], scales,
                       scores, losses[part]);
        }
    });
    const double norm = weights.squared_norm(false);
    Multiple best{.primal = std::numeric_limits<double>::infinity()};
    for (std::size_t at = 0; at < scales.size(); ++at) {
        CompensatedSum primal;
        primal += 0.5 * scales[at] * scales[at] * norm;
        for (const Losses& part : losses) primal += part[at].value();
        if (primal.value() < best.primal) best = {scales[at], primal.value()};
    }
    return best;
}

}  // namespace polymargin
