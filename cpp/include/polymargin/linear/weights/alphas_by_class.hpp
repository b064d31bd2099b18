// The vectors a_i of all examples, by lane of the weights: what w_c = sum_i a_ic x_i is summed from
// one class after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/feasible.hpp"
#include "polymargin/lanes.hpp"

namespace polymargin {

class AlphasByClass {
public:
    struct Entry {
        std::uint32_t i;
        double a;
    };

    template <class Problem, class T>
    AlphasByClass(const Problem& problem, const Duals<T>& duals, const Lanes& lanes)
        : ends_(static_cast<std::size_t>(lanes.size()) + 1) {
        std::vector<double> dense(problem.k);
        const auto for_each = [&](auto&& body) {
            for (std::size_t i = 0; i < problem.size(); ++i) {
                for_each_alpha(problem.machine, duals, i, problem.labels[i], problem.upper[i],
                               lanes, dense, [&](int lane, double a) {
                                   if (a != 0) body(static_cast<std::uint32_t>(i), lane, a);
                               });
            }
        };
        for_each([&](std::uint32_t, int lane, double) { ++ends_[lane + 1]; });
        for (std::size_t lane = 1; lane < ends_.size(); ++lane) ends_[lane] += ends_[lane - 1];
        entries_.resize(ends_.back());
        std::vector<std::size_t> next(ends_.begin(), ends_.end() - 1);
        for_each([&](std::uint32_t i, int lane, double a) { entries_[next[lane]++] = {i, a}; });
    }

    std::span<const Entry> of(std::size_t lane) const {
        return std::span(entries_).subspan(ends_[lane], ends_[lane + 1] - ends_[lane]);
    }

private:
    std::vector<std::size_t> ends_;  // of the entries of each lane, after a 0
    std::vector<Entry> entries_;
};

}  // namespace polymargin
