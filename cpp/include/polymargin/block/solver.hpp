// A chosen block solver. Compiled in cpp/src/block.cpp: the loops that call it know none by name.
#pragma once

#include <cstdint>
#include <vector>

#include "polymargin/block/block.hpp"
#include "polymargin/block/registry.hpp"
#include "polymargin/block/variables.hpp"
#include "polymargin/block/walrus.hpp"
#include "polymargin/random.hpp"

namespace polymargin {

// With the memory it needs; one per thread.
template <class T>
class BlockSolver {
public:
    explicit BlockSolver(BlockChoice choice, std::uint64_t seed = 0)
        : choice_(choice), random_(seed) {}

    Thresholds<T> operator()(Block<T>& block);

    void set_tolerance(double tol) { choice_.tol = tol; }

private:
    BlockChoice choice_;
    Random random_;
    block::Variables variables_;
    std::vector<double> values_;
    std::vector<block::BreakPoint> points_;
};

extern template class BlockSolver<float>;
extern template class BlockSolver<double>;

}  // namespace polymargin
