#include "train.inl"

using Rows32 = polymargin::SparseRows<double, std::int32_t>;
using Rows64 = polymargin::SparseRows<double, std::int64_t>;

POLYMARGIN_COMPILE(Rows32)
POLYMARGIN_COMPILE(Rows64)
