// The definition behind train_single_first(), apart from the others because it compiles the loop of
// block descent once more.
#pragma once

#include "polymargin/linear/single_first.hpp"
#include "polymargin/linear/train.hpp"

namespace polymargin {

template <class Rows>
LinearOutcome train_single_first(const LinearProblem<Rows>& problem, const LinearOptions& options,
                                 Duals<double>& duals, DenseWeights<double>& weights,
                                 const Observer& observer) {
    return SingleFirst<Rows>(problem, options, duals, weights, observer).run();
}

}  // namespace polymargin

#define POLYMARGIN_COMPILE_SINGLE_FIRST(Rows)                                                   \
    namespace polymargin {                                                                      \
    template LinearOutcome train_single_first(const LinearProblem<Rows>&, const LinearOptions&, \
                                              Duals<double>&, DenseWeights<double>&,            \
                                              const Observer&);                                 \
    }
