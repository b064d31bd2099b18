#include "../src/single_first.inl"
#include "../src/train.inl"
#include "store.hpp"

using Rows32 = polymargin::SparseRows<double, std::int32_t>;

POLYMARGIN_COMPILE(Rows32)
POLYMARGIN_COMPILE_SINGLE_FIRST(Rows32)
#ifdef POLYMARGIN_MAP_WEIGHTS
POLYMARGIN_COMPILE_STORE(Rows32, testing::Store)
#endif
