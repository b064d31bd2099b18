// The weights with which a slow fit ends: a primal point need not be that of the dual variables.
//
// Where C is large, the primal objective swings from check to check while the dual one rises, so
// that the best weights met are not the last ones. And the loss of margins that are short by little
// is most of the gap there, the norm is off by much less: s U with s > 1, a primal point like any
// other that predicts what U does, has no such loss.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

struct Multiple {
    double scale = 1, primal = 0;  // P(scale U)
};

// 1 + 2^-2, 1 + 2^-3, ..., 1.
constexpr auto multiples() {
    std::array<double, 16> scales{};
    double more = 0.25;
    for (double& s : scales) s = 1 + more, more /= 2;
    scales.back() = 1;
    return scales;
}

// Adds C L(s f) for all multiples s >= 1 to `losses`; the scores are centred where the machine is
// zero-sum, and padded. They are lost: a hinge that is 0 at s = 1 is so at any other, and only the
// scores of the others are kept.
inline void add_losses(const Machine& machine, int k, std::int32_t y, double C,
                       std::span<const double> scales, std::vector<double>& scores,
                       std::span<CompensatedSum> losses) {
    constexpr double never = -std::numeric_limits<double>::infinity();
    const double own_score = scores[y];
    scores[y] = never;
    std::fill(scores.begin() + k, scores.end(), never);
    std::size_t count = 0;
    if (machine.has_others) {
        const double other = machine.gradients(own_score, 0.0, k).other;
        simd::for_each_pack<double>(scores.size(), [&]<class P>(std::size_t at, P) {
            std::uint32_t bits = simd::bits_above(simd::load<P>(scores.data() + at) + other, 0.0);
            for (; bits; bits &= bits - 1) scores[count++] = scores[at + std::countr_zero(bits)];
        });
        const std::size_t padded = simd::padded<double>(count);
        std::fill(scores.begin() + count, scores.begin() + padded, never);
        count = padded;
    }
    for (std::size_t at = 0; at < scales.size(); ++at) {
        const double s = scales[at];
        const auto [other, own] = machine.gradients(s * own_score, 0.0, k);
        simd::Sum<double> sum;
        simd::Largest<double> top(0);
        simd::for_each_pack<double>(count, [&]<class P>(std::size_t at, P) {
            const P g = s * simd::load<P>(scores.data() + at) + other;
            sum.add(simd::max(g, P{}));
            top.add(g);
        });
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

template <class Rows, WeightStore Store>
class BestWeights {
public:
    using T = typename Store::value_type;

    explicit BestWeights(const LinearProblem<Rows>& problem, int threads)
        : problem_(problem),
          threads_(threads),
          has_room_(problem.features() * static_cast<std::size_t>(problem.k) <= most) {}

    // Of weights that a check met.
    void see(const Store& weights, double primal) {
        if (!has_room_ || !(primal < primal_)) return;
        primal_ = primal;
        kept_.emplace(weights.copy());
        if (problem_.machine.zero_sum) kept_->centre();
    }

    // Of weights whose objective nobody knows yet, the last ones that are worth a look.
    void remember(const Store& weights) {
        if (!has_room_) return;
        recent_.emplace(weights.copy());
        if (problem_.machine.zero_sum) recent_->centre();
    }

    double primal() const { return primal_; }

    struct Found {
        Store weights;
        double primal;
    };

    // Better weights than these, which are centred where the machine is zero-sum.
    std::optional<Found> better_than(const Store& weights, double primal) const {
        if (!has_room_) return {};
        const Store* base = &weights;
        Multiple best = best_multiple(problem_, weights, multiples(), threads_);
        const auto look_at = [&](const std::optional<Store>& others) {
            if (!others) return;
            const Multiple other = best_multiple(problem_, *others, multiples(), threads_);
            if (other.primal < best.primal) best = other, base = &*others;
        };
        if (primal_ < best.primal) look_at(kept_);
        look_at(recent_);
        Found found{base->copy(), 0};
        found.weights.scale(T(best.scale));
        // The objective of the weights as they are returned, rounded once more.
        constexpr std::array as_they_are{1.0};
        found.primal = best_multiple(problem_, found.weights, as_they_are, threads_).primal;
        if (!(found.primal < primal)) return {};
        return found;
    }

private:
    static constexpr std::size_t most = 1 << 27;  // weights

    const LinearProblem<Rows>& problem_;
    int threads_;
    bool has_room_;
    double primal_ = std::numeric_limits<double>::infinity();
    std::optional<Store> kept_, recent_;
};

}  // namespace polymargin
