// One kind of dense and one kind of sparse rows, so that a build under a sanitizer stays short.
#include "../src/train.inl"
#include "store.hpp"

POLYMARGIN_COMPILE(DenseRows<float>)
#ifdef POLYMARGIN_MAP_WEIGHTS
POLYMARGIN_COMPILE_STORE(DenseRows<float>, testing::Store)
#endif
