// Training on a stream: every example is visited once, its block is solved exactly from beta = 0,
// the weights keep the result and the example is forgotten. Memory does not depend on n.
// Blondel et al. (2014), section V: one-pass training.
//
// A stream that is read again needs the dual variables of its last pass, which the caller keeps:
// from beta = 0 each pass would add to the weights as if all examples were new.
#pragma once

#include <algorithm>

#include "polymargin/block/solver.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/visitor.hpp"

namespace polymargin {

// Returns the number of examples visited: an interrupt ends it early. `kept` are the dual variables
// of these examples, null where none are kept.
template <class Rows, WeightStore Store, class T>
std::size_t visit_stream(const LinearProblem<Rows>& problem, const LinearOptions& options,
                         Store& weights, Duals<T>* kept, const Observer& observer) {
    const std::vector<T> norms = working_norms(problem);
    BlockSolver<T> solver(options.block, options.seed);
    Duals<T> none(1, problem.k);
    Visitor<Rows, Store> visitor(problem, norms, kept ? *kept : none, weights);
    if (!kept) visitor.forget_duals();
    Update<Rows> update(problem.k);
    const std::size_t often = std::clamp<std::size_t>((1 << 16) / problem.k, 1, 1024);
    for (std::size_t i = 0; i < problem.size(); ++i) {
        if (visitor.prepare(i, T(0)).moves) {
            visitor.improve(solver, T(0), update);
            update.apply(weights, weights.whole());
        } else {
            visitor.discard();
        }
        if (i % often == often - 1 && observer.interrupted && observer.interrupted()) return i + 1;
    }
    return problem.size();
}

}  // namespace polymargin
