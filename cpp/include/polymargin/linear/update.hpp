// What the visit of one example adds to the weights: U += x delta^T, delta the change of a_i.
#pragma once

#include <span>
#include <vector>

#include "polymargin/linear/kernels.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights.hpp"

namespace polymargin {

template <class Rows>
struct Update {
    using T = typename Rows::value_type;
    enum class Kind { none, few, dense };

    explicit Update(int k) : delta(simd::padded<T>(k)) {}

    Kind kind = Kind::none;
    RowOf<Rows> row{};           // valid until the visitor's next example
    std::vector<Change<T>> few;  // by class
    std::vector<T> delta;        // all classes, padded

    // For the lanes first <= c < last of the weights, multiples of half a pack.
    void apply(Weights<T>& weights, bool bias, std::size_t first, std::size_t last) const {
        if (kind == Kind::few) kernels::add_outer<T>(row, few, weights, bias, first, last);
        if (kind == Kind::dense) {
            kernels::add_outer(row, delta.data(), weights, bias, first, last);
        }
    }
};

}  // namespace polymargin
