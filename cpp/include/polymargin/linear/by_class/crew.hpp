// Descent on some classes, a few at a time, by several threads: candidates move, then all examples
// are looked at. What a class becomes does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "polymargin/fit/watch.hpp"
#include "polymargin/linear/by_class/look.hpp"
#include "polymargin/linear/by_class/solver.hpp"
#include "polymargin/linear/by_class/state.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

template <class Rows>
class ClassCrew {
public:
    using T = typename Rows::value_type;
    static constexpr std::size_t at_once = ClassLook<Rows>::lanes;

    ClassCrew(const LinearProblem<Rows>& problem, std::span<const T> norms, int threads,
              std::uint64_t seed, Watch& watch)
        : problem_(problem), norms_(norms), seed_(seed), watch_(watch), members_(threads) {}

    // start(c, state) is called before a class is descended on, enough(c, state, met) after passes
    // over all of its candidates. False if it was interrupted.
    template <class Start, class Enough>
    bool operator()(std::span<const std::int32_t> classes, std::span<ClassState<T>> states,
                    Start&& start, Enough&& enough) {
        const std::thread::id caller = std::this_thread::get_id();
        const std::size_t parts = (classes.size() + at_once - 1) / at_once;
        const std::size_t threads = std::min(members_.size(), parts);
        std::atomic<std::size_t> next{0};
        std::atomic<bool> stopped{false};
        const auto interrupted = [&] {
            // The caller alone may ask who watches.
            if (std::this_thread::get_id() == caller && watch_.interrupted()) stopped = true;
            return stopped.load(std::memory_order_relaxed);
        };
        ++rounds_;
        parallel_for(static_cast<int>(threads), threads, [&](std::size_t t) {
            if (!members_[t]) members_[t] = std::make_unique<Member>(problem_, norms_);
            Member& member = *members_[t];
            for (std::size_t part; !interrupted() && (part = next.fetch_add(1)) < parts;) {
                const std::size_t first = part * at_once;
                const auto some = classes.subspan(first, std::min(at_once, classes.size() - first));
                member.look.clear();
                for (const std::int32_t c : some) {
                    ClassState<T>& state = states[c == no_class ? 0 : c];
                    start(c, state);
                    member.solve(
                        c, state.candidates, Random(seed_ + 0x10001u * rounds_ + c),
                        [&](const auto& met) { return enough(c, state, met); }, interrupted);
                    member.look.add(c, state, member.solve.weights());
                    member.solve.clear();
                }
                member.look(interrupted);
            }
        });
        return !stopped;
    }

private:
    struct Member {
        ClassSolver<Rows> solve;
        ClassLook<Rows> look;

        Member(const LinearProblem<Rows>& problem, std::span<const T> norms)
            : solve(problem, norms), look(problem) {}
    };

    const LinearProblem<Rows>& problem_;
    std::span<const T> norms_;
    std::uint64_t seed_, rounds_ = 0;
    Watch& watch_;
    std::vector<std::unique_ptr<Member>> members_;  // one per thread, made by it
};

}  // namespace polymargin
