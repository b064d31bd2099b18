// A look at every class of some examples: their gaps, and for each of them those of its unlisted
// classes whose dual variables would rise most, which are then listed.
//
// An unlisted class has beta_c = 0, so it matters where its gradient is positive or, in a full
// simplex, above that of a class in use. The weights are only read: threads share them freely.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

// What a search says of the examples it looked at.
struct Searched {
    CompensatedSum gap, loss;
    double violation = 0;
    double listed = 0;   // classes, over all examples
    double wanting = 0;  // unlisted classes that would rise
    double added = 0;    // those that were listed

    void add(const Searched& part) {
        gap += part.gap.value();
        loss += part.loss.value();
        violation = std::max(violation, part.violation);
        listed += part.listed;
        wanting += part.wanting;
        added += part.added;
    }
};

template <class Rows, class Store>
class ClassSearch {
public:
    using T = typename Rows::value_type;

    ClassSearch(const LinearProblem<Rows>& problem, Duals<T>& duals, const Store& weights,
                int threads)
        : problem_(problem), duals_(duals), stride_(simd::padded<T>(problem.k)) {
        for (int t = 0; t < threads; ++t) workers_.push_back(Worker{{weights, problem.rows}});
    }

    Searched operator()(std::span<const std::uint32_t> examples, T near) {
        const std::size_t threads = workers_.size(), count = examples.size();
        const std::size_t fitting = most_bytes / (stride_ * sizeof(T)) / chunk * chunk;
        const std::size_t block = std::max(chunk * threads, std::min(fitting, most_examples));
        F_.resize(std::min(block, count) * stride_);
        for (Worker& worker : workers_) worker.kept.clear();
        places_.resize(count);
        std::vector<Searched> parts((count + chunk - 1) / chunk);  // summed in order
        for (std::size_t begin = 0; begin < count; begin += block) {
            search(examples.subspan(begin, std::min(block, count - begin)), begin, near,
                   parts.data() + begin / chunk);
        }
        Searched all;
        for (const Searched& part : parts) all.add(part);
        return all;
    }

    // Of the e-th example of the last call: of the classes that it lists, and then of its own one
    // if that is not among them.
    const T* scores(std::size_t e) const {
        return workers_[places_[e].worker].kept.data() + places_[e].begin;
    }

private:
    static constexpr std::size_t most_bytes = 96 << 20;  // of scores
    static constexpr std::size_t most_examples = 2048;
    static constexpr std::size_t chunk = 16;     // examples whose parts are summed together
    static constexpr std::size_t most_new = 24;  // classes that a search adds to a list
    static constexpr T never = std::numeric_limits<T>::lowest() / T(1e8);

    struct Candidate {
        T score;
        std::int32_t c;
        bool operator<(const Candidate& other) const { return score > other.score; }
    };

    struct Worker {
        typename Store::template Together<Rows, T> scores;
        std::vector<T> f{};     // of one example
        std::vector<T> kept{};  // of the classes that examples list
        std::vector<DualEntry<T>> entries{};
        std::vector<Candidate> candidates{};  // a heap, the worst first
        std::vector<Candidate> hidden{};      // scores that others took the place of
    };

    struct Place {
        std::size_t worker, begin;
    };

    // `begin` examples of the call come before these.
    void search(std::span<const std::uint32_t> examples, std::size_t begin, T near,
                Searched* parts) {
        const std::size_t count = examples.size(), threads = workers_.size();
        const std::size_t chunks = (count + chunk - 1) / chunk;
        parallel_for(static_cast<int>(threads), threads, [&](std::size_t t) {
            const std::size_t first = chunks * t / threads * chunk;
            const std::size_t last = std::min(count, chunks * (t + 1) / threads * chunk);
            if (first >= last) return;
            Worker& worker = workers_[t];
            worker.scores.full(examples.subspan(first, last - first), F_.data() + first * stride_);
            for (std::size_t e = first; e < last; ++e) {
                const T* from_full = F_.data() + e * stride_;
                worker.f.assign(from_full, from_full + stride_);
                worker.scores.lists(examples[e], worker.f.data());
                look_at(worker, examples[e], worker.f.data(), near, parts[e / chunk]);
                places_[begin + e] = {t, worker.kept.size()};
                keep(worker, examples[e]);
            }
        });
    }

    void keep(Worker& worker, std::size_t i) const {
        bool has_own = false;
        duals_.for_each_listed(i, [&](std::int32_t c, T) {
            worker.kept.push_back(worker.f[c]);
            has_own |= c == problem_.labels[i];
        });
        if (!has_own) worker.kept.push_back(worker.f[problem_.labels[i]]);
    }

    void look_at(Worker& worker, std::size_t i, T* f, T near, Searched& found) {
        const Machine& machine = problem_.machine;
        const std::int32_t y = problem_.labels[i];
        const double C = problem_.upper[i];
        const auto gradients = machine.gradients(f[y], T(0), problem_.k);
        const T other = gradients.other;
        worker.hidden.clear();
        hide(worker, f, y);
        std::fill(f + problem_.k, f + stride_, never);

        simd::Sum<T> hinges;
        simd::Largest<T> largest(never);
        simd::for_each_pack<T>(stride_, [&]<class P>(std::size_t at, P) {
            const P g = simd::load<P>(f + at) + other;
            hinges.add(simd::max(g, P{}));
            largest.add(g);
        });
        const T own = machine.has_own ? gradients.own : never;
        const double top = std::max({T(0), largest.value(), own});
        const double loss = machine.simplex()
                                ? C * top
                                : C * (machine.weight_other * double(hinges.value()) +
                                       machine.weight_own * double(std::max(T(0), own)));

        // The dual variables, at the gradients that their classes have.
        double product = 0, total = 0, violation = 0;
        T lowest = std::numeric_limits<T>::infinity();  // gradient of a variable in use
        duals_.for_each(i, [&](std::int32_t c, T beta) {
            const T g = c == y ? own : f[c] + other;
            product += double(beta) * g;
            total += beta;
            lowest = std::min(lowest, g);
        });
        const bool is_full = machine.simplex() && total >= C * nearly;
        const T floor = is_full ? lowest : T(0);  // a class above it wants to rise
        if (machine.simplex()) {
            violation = std::max(0.0, top - double(is_full ? lowest : std::min(lowest, T(0))));
        } else {
            violation = box_violation(worker, i, f, other, own, C);
        }
        found.gap += std::max(0.0, loss - product);
        found.loss += loss;
        found.violation = std::max(found.violation, violation);
        if (duals_.listed(i)) {
            // In a full simplex, a class that is worse than those in use will not rise.
            const T level = is_full ? T(product / total) : T(0);
            list(worker, i, f, other, own, floor, level, near, found);
        } else {
            found.listed += problem_.k;
        }
        for (const Candidate& score : worker.hidden) f[score.c] = score.score;
    }

    void hide(Worker& worker, T* f, std::int32_t c) const {
        worker.hidden.push_back({std::exchange(f[c], never), c});
    }

    // Of positive variables whose gradient is negative, and of others than those at their bounds
    // whose gradient is positive.
    double box_violation(Worker& worker, std::size_t i, T* f, T other, T own, double C) const {
        const Machine& machine = problem_.machine;
        double worst = 0;
        T own_free = own;
        auto& bound = worker.candidates;  // taken out of f for a while
        bound.clear();
        duals_.for_each(i, [&](std::int32_t c, T beta) {
            const bool is_own = c == problem_.labels[i];
            const T g = is_own ? own : f[c] + other;
            worst = std::max(worst, -double(g));
            if (beta < machine.upper(is_own, C) * nearly) return;
            if (is_own) {
                own_free = never;
            } else {
                bound.push_back({std::exchange(f[c], never), c});
            }
        });
        simd::Largest<T> largest(never);
        simd::for_each_pack<T>(stride_, [&]<class P>(std::size_t at, P) {
            largest.add(simd::load<P>(f + at));
        });
        for (const Candidate& candidate : bound) f[candidate.c] = candidate.score;
        return std::max({worst, double(largest.value()) + other, double(own_free)});
    }

    // The new list: what is positive or near it, and the best of the others.
    void list(Worker& worker, std::size_t i, T* f, T other, T own, T floor, T level, T near,
              Searched& found) {
        auto& entries = worker.entries;
        auto& candidates = worker.candidates;
        entries.clear();
        candidates.clear();
        const std::int32_t y = problem_.labels[i];
        bool has_own = !problem_.machine.has_own;
        const std::span<DualEntry<T>> listed = duals_.list(i);
        for (const DualEntry<T>& entry : listed) {
            const bool is_own = entry.c == y;
            const T g = is_own ? own : f[entry.c] + other;
            if (!is_own) hide(worker, f, entry.c);
            has_own |= is_own;
            if (is_own || entry.value != 0 || g > floor - near) entries.push_back(entry);
        }
        found.listed += static_cast<double>(listed.size());
        if (!has_own) entries.push_back({y, T(0)});
        found.wanting += choose(candidates, i, f, floor - other, level - other);
        found.added += static_cast<double>(candidates.size());
        const bool unchanged = candidates.empty() && entries.size() == listed.size() && has_own;
        if (unchanged) return;
        for (const Candidate& candidate : candidates) entries.push_back({candidate.c, T(0)});
        std::sort(entries.begin(), entries.end(),
                  [](const auto& a, const auto& b) { return a.c < b.c; });
        duals_.assign(i, entries);
    }

    // The largest scores above the floor, which rises with them. Where many are equal, as at the
    // start, examples begin at different classes. Returns how many are above the level.
    double choose(std::vector<Candidate>& candidates, std::size_t i, const T* f, T floor,
                  T level) const {
        std::size_t above = 0;
        constexpr std::size_t lanes = simd::half_lanes<T>;
        const auto look = [&](std::size_t from, std::size_t to) {
            simd::for_each_pack<T>(to - from, [&]<class P>(std::size_t at, P) {
                const std::size_t begin = from + at;
                const P scores = simd::load<P>(f + begin);
                above += static_cast<std::size_t>(std::popcount(simd::bits_above(scores, level)));
                std::uint32_t bits = simd::bits_above(scores, floor);
                for (; bits; bits &= bits - 1) {
                    const auto c = begin + static_cast<std::size_t>(std::countr_zero(bits));
                    if (!(f[c] > floor)) continue;  // which has risen
                    if (candidates.size() == most_new) {
                        std::pop_heap(candidates.begin(), candidates.end());
                        candidates.pop_back();
                    }
                    candidates.push_back({f[c], static_cast<std::int32_t>(c)});
                    std::push_heap(candidates.begin(), candidates.end());
                    if (candidates.size() == most_new) floor = candidates.front().score;
                }
            });
        };
        const std::size_t start = i * 0x9e3779b1u % (stride_ / lanes) * lanes;
        look(start, stride_);
        look(0, start);
        return static_cast<double>(above);
    }

    static constexpr double nearly = 1 - 64 * double(std::numeric_limits<T>::epsilon());

    const LinearProblem<Rows>& problem_;
    Duals<T>& duals_;
    std::size_t stride_;  // lanes from one example to the next
    std::vector<T> F_;    // what full rows say, of the examples of a block
    std::vector<Place> places_;
    std::vector<Worker> workers_;
};

}  // namespace polymargin
