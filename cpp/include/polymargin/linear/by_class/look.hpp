// A look at all examples by a few classes: the gap of each class, and the examples that should
// become candidates of its next descent, those with the largest gradients. The classes are added
// one after the other, then they look together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/linear/by_class/block.hpp"
#include "polymargin/linear/by_class/state.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

// With the memory it needs: one per thread.
template <class Rows>
class ClassLook {
public:
    using T = typename Rows::value_type;
    static constexpr int lanes = ClassBlock<T>::lanes;

    explicit ClassLook(const LinearProblem<Rows>& problem)
        : problem_(problem),
          block_(problem.rows.features()),
          scores_(chunk * lanes),
          scratch_(problem.rows.scratch_size()) {}

    void clear() {
        block_.clear();
        floor_.fill(-never);
        classes_.clear();
    }

    // A class and its weights.
    void add(std::int32_t c, ClassState<T>& state, std::span<const double> weights) {
        const ClassProblem<Rows> one{problem_, c};
        const std::size_t lane = classes_.size();
        classes_.push_back({one, &state});
        std::erase_if(state.candidates, [&](const Candidate<T>& candidate) {
            return candidate.beta == 0 && !one.own(candidate.i);
        });
        for (const auto& [i, beta] : state.candidates) {
            if (beta == 0) continue;
            block_.set(problem_.rows.row(i, scratch_.data()), static_cast<int>(lane), weights);
        }
        floor_[lane] = T(-Machine::other_margin);
        Found& found = found_[lane];
        found.others.clear();
        found = {.next = 0,
                 .room = room(one, state.candidates),
                 .least = floor_[lane],
                 .others = std::move(found.others),
                 .loss = {},
                 .margins = {},
                 .squared_norm = {},
                 .violation = 0};
    }

    // Where it is interrupted, states keep their dual variables and know nothing else.
    template <class Interrupted>
    void operator()(Interrupted&& interrupted) {
        const std::size_t n = problem_.size();
        for (std::size_t first = 0; first < n; first += chunk) {
            if (interrupted()) return;
            const std::size_t last = std::min(n, first + chunk);
            for (std::size_t i = first; i < last; ++i) {
                if (i + 2 < n) problem_.rows.prefetch_contents(i + 2);
                block_.scores(problem_.rows.row(i, scratch_.data()), score(i - first));
            }
            for (std::size_t lane = 0; lane < classes_.size(); ++lane) {
                see_candidates(lane, first, last);
            }
            if (problem_.machine.has_others) see_others(first, last);
        }
        for (std::size_t lane = 0; lane < classes_.size(); ++lane) {
            end(*classes_[lane].state, found_[lane], block_.nonzeros(static_cast<int>(lane)));
        }
    }

private:
    static constexpr std::size_t chunk = 256;  // examples
    static constexpr T never = -std::numeric_limits<T>::infinity();

    struct Looking {
        ClassProblem<Rows> one;
        ClassState<T>* state;
    };

    // What is seen of a class.
    struct Found {
        std::size_t next;  // candidate
        std::size_t room;  // for new candidates
        T least;           // score of one
        std::vector<std::pair<T, std::uint32_t>> others;
        CompensatedSum loss, margins, squared_norm;
        double violation;
    };

    T* score(std::size_t e) { return scores_.data() + e * lanes; }

    // With a bias, the dual variables of others have to weigh about as much as those of the class
    // and one more. Without, every example has to be kept away by features of its own.
    std::size_t room(const ClassProblem<Rows>& one,
                     std::span<const Candidate<T>> candidates) const {
        if (!problem_.bias) return problem_.size();
        double own = 1, all = 0;
        for (const auto& [i, beta] : candidates) {
            all += one.upper(i);
            if (one.own(i)) own += one.upper(i);
        }
        const auto n = static_cast<double>(problem_.size());
        const auto count = static_cast<double>(candidates.size());
        const double mean = candidates.empty() ? one.upper(0) : all / count;
        const double wanted = std::max({64.0, 3 * own / mean, 2 * count});
        return static_cast<std::size_t>(std::min(wanted, n));
    }

    // Those that are candidates already are taken out of the scores.
    void see_candidates(std::size_t lane, std::size_t first, std::size_t last) {
        const auto& [one, state] = classes_[lane];
        const std::span<const Candidate<T>> candidates = state->candidates;
        Found& found = found_[lane];
        for (; found.next < candidates.size() && candidates[found.next].i < last; ++found.next) {
            const auto [i, beta] = candidates[found.next];
            const T f = std::exchange(score(i - first)[lane], never);
            if (!one.has_variable(i)) continue;
            const double upper = one.upper(i), t = one.margin(i);
            const double g = t - double(one.sign(i)) * f;
            found.loss += upper * std::max(0.0, g);
            found.margins += t * beta;
            found.squared_norm += double(one.sign(i) * beta) * f;
            const bool rises = g > 0 && beta < T(upper), falls = g < 0 && beta > 0;
            if (rises || falls) found.violation = std::max(found.violation, std::abs(g));
        }
    }

    void see_others(std::size_t first, std::size_t last) {
        using P = simd::Pack<T>;
        for (std::size_t i = first; i < last; ++i) {
            const T* f = score(i - first);
            for (int at = 0; at < lanes; at += simd::full_lanes<T>) {
                const P above = simd::load<P>(f + at) - simd::load<P>(floor_.data() + at);
                for (std::uint32_t bits = simd::bits_above(above, T(0)); bits; bits &= bits - 1) {
                    const int lane = at + std::countr_zero(bits);
                    see_other(found_[lane], static_cast<std::uint32_t>(i), f[lane]);
                }
            }
        }
    }

    void see_other(Found& found, std::uint32_t i, T f) {
        const double g = Machine::other_margin + double(f);
        found.loss += problem_.machine.upper(false, problem_.upper[i]) * g;
        found.violation = std::max(found.violation, g);
        if (f < found.least) return;
        found.others.push_back({f, i});
        if (found.others.size() >= 2 * found.room + 64) cut(found);
    }

    // To those with the largest scores.
    static void cut(Found& found) {
        if (found.others.size() <= found.room) return;
        const auto end = found.others.begin() + static_cast<std::ptrdiff_t>(found.room);
        std::nth_element(found.others.begin(), end, found.others.end(), std::greater<>());
        found.least = std::max(found.least, end->first);
        found.others.erase(end, found.others.end());
    }

    static void end(ClassState<T>& state, Found& found, std::size_t weights) {
        const double norm = found.squared_norm.value(), margins = found.margins.value();
        state.primal = 0.5 * norm + found.loss.value();
        state.dual = margins - 0.5 * norm;
        state.gap = std::max(0.0, found.loss.value() + norm - margins);
        state.violation = found.violation;
        state.weights = weights;
        state.duals = static_cast<std::size_t>(
            std::ranges::count_if(state.candidates, [](const auto& one) { return one.beta != 0; }));
        cut(found);
        auto& candidates = state.candidates;
        const auto middle = static_cast<std::ptrdiff_t>(candidates.size());
        for (const auto& [f, i] : found.others) candidates.push_back({i, T(0)});
        const auto by_example = [](const Candidate<T>& a, const Candidate<T>& b) {
            return a.i < b.i;
        };
        std::sort(candidates.begin() + middle, candidates.end(), by_example);
        std::inplace_merge(candidates.begin(), candidates.begin() + middle, candidates.end(),
                           by_example);
    }

    const LinearProblem<Rows>& problem_;
    ClassBlock<T> block_;
    std::vector<T> scores_;  // of a chunk, an example after the other
    std::vector<T> scratch_;
    std::array<T, lanes> floor_;    // scores above it are looked at
    std::vector<Looking> classes_;  // by lane
    std::array<Found, lanes> found_;
};

}  // namespace polymargin
