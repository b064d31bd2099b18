// What the visit of one example adds to the weights: U += x delta^T, delta the change of a_i.
#pragma once

#include <span>
#include <vector>

#include "polymargin/block/change.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

template <class Rows>
struct Update {
    using T = typename Rows::value_type;
    enum class Kind { none, few, dense };

    explicit Update(int lanes) : delta(simd::padded<T>(lanes)) {}

    Kind kind = Kind::none;
    RowOf<Rows> row{};           // valid until the visitor's next example
    std::vector<Change<T>> few;  // by class
    std::vector<T> delta;        // all lanes, padded

    void scale(T factor) {
        if (kind == Kind::few) {
            for (Change<T>& change : few) change.delta *= factor;
        }
        if (kind == Kind::dense) {
            for (T& change : delta) change *= factor;
        }
    }

    template <class Store>
    void apply(Store& weights, typename Store::Slice slice) const {
        if (kind == Kind::few) weights.add(row, std::span<const Change<T>>(few), slice);
        if (kind == Kind::dense) weights.add(row, delta.data(), slice);
    }
};

}  // namespace polymargin
