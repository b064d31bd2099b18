// The weights of one class, w_c = sum_i a_ic x_i, in double; those that are not zero are kept in
// the working precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/linear/weights/alphas_by_class.hpp"

namespace polymargin {

template <class T>
struct Column {
    std::vector<std::pair<std::uint32_t, T>>
        weights;      // by feature, in no order, the bias among them
    double norm = 0;  // |w_c|^2 before rounding
};

// With the memory it needs; one per thread.
template <class Problem>
class ColumnSum {
public:
    using T = typename Problem::value_type;

    explicit ColumnSum(const Problem& problem)
        : problem_(problem), dense_(problem.features()), scratch_(problem.rows.scratch_size()) {}

    void operator()(std::span<const AlphasByClass::Entry> alphas, Column<T>& column) {
        auto& weights = column.weights;
        weights.clear();
        const auto add = [&](std::size_t j, double change) {
            if (change == 0) return;
            if (dense_[j] == 0) weights.push_back({static_cast<std::uint32_t>(j), T(0)});
            dense_[j] += change;
        };
        for (const auto& [i, a] : alphas) {
            const auto row = problem_.rows.row(i, scratch_.data());
            for (std::size_t p = 0; p < row.size(); ++p) add(row.index(p), a * row.value(p));
            if (problem_.bias) add(dense_.size() - 1, a);
        }
        column.norm = 0;
        std::size_t kept = 0;
        for (const auto& [j, unset] : weights) {
            // A sum that was 0 on the way is listed again, and 0 the second time.
            const double w = std::exchange(dense_[j], 0);
            column.norm += w * w;
            if (T(w) != 0) weights[kept++] = {j, T(w)};
        }
        weights.resize(kept);
    }

private:
    const Problem& problem_;
    std::vector<double> dense_;  // 0 between calls
    std::vector<T> scratch_;
};

}  // namespace polymargin
