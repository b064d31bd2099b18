// The store of weights that the tests of linear machines run on. They are compiled once for each.
#pragma once

#ifdef POLYMARGIN_MAP_WEIGHTS
#include "map_weights.hpp"
namespace polymargin::testing {
template <class T>
using Store = MapWeights<T>;
}
#elif defined(POLYMARGIN_SPARSE_WEIGHTS)
#include "polymargin/linear/weights/sparse.hpp"
namespace polymargin::testing {
template <class T>
using Store = SparseWeights<T>;
}
#else
#include "polymargin/linear/weights/dense.hpp"
namespace polymargin::testing {
template <class T>
using Store = DenseWeights<T>;
}
#endif
