// The features through which examples share most, and what of them the examples have: the constant
// one and, of sparse rows, those whose sum of squares over the examples is largest. The words that
// stand in every other text are such features.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/linear/free_variables.hpp"

namespace polymargin {

template <class Rows>
class HeavyFeatures {
public:
    using T = typename Rows::value_type;

    struct Cell {
        std::uint32_t slot;  // 0 .. count() - 1, in place of the feature
        T x;
    };

    explicit HeavyFeatures(const LinearProblem<Rows>& problem) : problem_(problem) {}

    std::size_t count() const { return count_; }

    // Of an example, by its place among those with free variables.
    std::span<const Cell> of(std::size_t e) const {
        if (count_ == 0) return {};
        return std::span(cells_).subspan(starts_[e], starts_[e + 1] - starts_[e]);
    }

    // Those of the examples with free variables.
    void choose(const FreeVariables<Rows>& free) {
        const auto k = static_cast<std::size_t>(problem_.k);
        const bool constant = problem_.bias && k <= most_classes;
        std::vector<std::uint32_t> features;
        if constexpr (Rows::is_sparse) features = heaviest(free, most / k);
        count_ = features.size() + constant;
        if (count_ == 0) return;
        collect(free, features, constant);
    }

private:
    static constexpr std::size_t most_classes = 2048;
    static constexpr std::size_t most = 512;  // features times classes, but for the constant one

    // At most so many, each of which is as heavy as an example for each class.
    std::vector<std::uint32_t> heaviest(const FreeVariables<Rows>& free, std::size_t limit) const {
        std::vector<double> weights(problem_.rows.features());
        double total = 0;
        for (const FreeExample& example : free.examples()) {
            const auto row = problem_.rows.row(example.i, nullptr);
            for (std::size_t p = 0; p < row.size(); ++p) {
                const double square = double(row.value(p)) * double(row.value(p));
                weights[row.index(p)] += square;
                total += square;
            }
        }
        const double least = problem_.k * total /
                             static_cast<double>(std::max<std::size_t>(1, free.examples().size()));
        std::vector<std::uint32_t> features;
        for (std::uint32_t j = 0; j < weights.size(); ++j) {
            if (weights[j] > least) features.push_back(j);
        }
        const std::size_t kept = std::min(limit, features.size());
        std::ranges::partial_sort(features, features.begin() + static_cast<std::ptrdiff_t>(kept),
                                  std::ranges::greater{},
                                  [&](std::uint32_t j) { return weights[j]; });
        features.resize(kept);
        return features;
    }

    void collect(const FreeVariables<Rows>& free, std::span<const std::uint32_t> features,
                 bool constant) {
        constexpr std::uint32_t light = ~0u;
        std::vector<std::uint32_t> slots(features.empty() ? 0 : problem_.rows.features(), light);
        for (std::uint32_t slot = 0; slot < features.size(); ++slot) slots[features[slot]] = slot;
        starts_.assign(1, 0);
        cells_.clear();
        for (const FreeExample& example : free.examples()) {
            if constexpr (Rows::is_sparse) {
                const auto row = problem_.rows.row(example.i, nullptr);
                for (std::size_t p = 0; p < row.size() && !slots.empty(); ++p) {
                    const std::uint32_t slot = slots[row.index(p)];
                    if (slot != light) cells_.push_back({slot, row.value(p)});
                }
            }
            if (constant) cells_.push_back({static_cast<std::uint32_t>(features.size()), T(1)});
            starts_.push_back(cells_.size());
        }
    }

    const LinearProblem<Rows>& problem_;
    std::size_t count_ = 0;
    std::vector<std::size_t> starts_;
    std::vector<Cell> cells_;
};

}  // namespace polymargin
