// A kernel problem as the loops see it. The kernel itself is known by its diagonal and by the
// blocks that the caller computes when they are needed.
#pragma once

#include <cstdint>
#include <span>

#include "polymargin/bounds.hpp"
#include "polymargin/machine.hpp"

namespace polymargin {

template <class T>
struct KernelProblem {
    std::span<const std::int32_t> labels;  // 0 .. k-1
    Bounds upper;
    std::span<const T> diagonal;  // K_ii
    int k;
    const Machine& machine;

    std::size_t size() const { return labels.size(); }
};

}  // namespace polymargin
