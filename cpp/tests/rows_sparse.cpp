#include "../src/train.inl"

using Rows32 = polymargin::SparseRows<double, std::int32_t>;

POLYMARGIN_COMPILE(Rows32)
