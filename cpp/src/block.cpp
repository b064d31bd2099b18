// All block solvers, and the block of one example, compiled once for each precision.
#include "polymargin/block/bisection.hpp"
#include "polymargin/block/example.hpp"
#include "polymargin/block/fixed_point.hpp"
#include "polymargin/block/frank_wolfe.hpp"
#include "polymargin/block/greedy.hpp"
#include "polymargin/block/greedy_pairs.hpp"
#include "polymargin/block/newton.hpp"
#include "polymargin/block/pivot.hpp"
#include "polymargin/block/smo.hpp"
#include "polymargin/block/solver.hpp"
#include "polymargin/block/sort.hpp"
#include "polymargin/block/walrus.hpp"

namespace polymargin {

template <class T>
Thresholds<T> BlockSolver<T>::operator()(Block<T>& block) {
    using enum BlockKind;
    const auto [kind, tol, max_iter] = choice_;
    switch (kind) {
        case newton: return block::newton(block);
        case sort: return block::sort(block, values_);
        case pivot: return block::pivot(block, values_, random_);
        case bisection:
            return block::improve_by(block::bisection_thresholds(block, tol), block, variables_,
                                     values_);
        case fixed_point:
            return block::improve_by(block::fixed_point_thresholds(block, tol, max_iter), block,
                                     variables_, values_);
        case smo: return block::smo(block, variables_, max_iter);
        case frank_wolfe: return block::frank_wolfe(block, variables_, values_, max_iter);
        case walrus: return block::walrus(block, points_);
        case greedy: return block::greedy(block, variables_, tol, max_iter);
        case greedy_pairs: return block::greedy_pairs(block, variables_, tol, max_iter);
    }
    __builtin_unreachable();
}

template class BlockSolver<float>;
template class BlockSolver<double>;
template class ExampleBlock<float>;
template class ExampleBlock<double>;

}  // namespace polymargin
