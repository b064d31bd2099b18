// Dual variables by example, and by class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/linear/by_class/state.hpp"

namespace polymargin {

// The candidates of each class: its own examples, and those with positive variables.
template <class Rows, class T>
void read_candidates(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                     std::span<ClassState<T>> states) {
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const auto example = static_cast<std::uint32_t>(i);
        const std::int32_t y = problem.labels[i];
        bool has_own = false;
        duals.for_each(i, [&](std::int32_t c, T beta) {
            states[c].candidates.push_back({example, beta});
            has_own |= c == y;
        });
        if (!has_own) states[y].candidates.push_back({example, T(0)});
    }
}

template <class T>
void write_duals(std::span<const ClassState<T>> states, Duals<T>& duals) {
    std::vector<std::size_t> ends(duals.size() + 1);
    const auto for_each = [&](auto&& body) {
        for (std::size_t c = 0; c < states.size(); ++c) {
            for (const auto& [i, beta] : states[c].candidates) {
                if (beta != 0) body(i, static_cast<std::int32_t>(c), beta);
            }
        }
    };
    for_each([&](std::uint32_t i, std::int32_t, T) { ++ends[i + 1]; });
    for (std::size_t i = 0; i < duals.size(); ++i) ends[i + 1] += ends[i];
    std::vector<DualEntry<T>> entries(ends.back());
    std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
    for_each([&](std::uint32_t i, std::int32_t c, T beta) { entries[next[i]++] = {c, beta}; });
    for (std::size_t i = 0; i < duals.size(); ++i) {
        duals.assign(i, std::span(entries).subspan(ends[i], ends[i + 1] - ends[i]));
    }
}

}  // namespace polymargin
