#include "single_first.inl"

using Rows32 = polymargin::SparseRows<double, std::int32_t>;
using Rows64 = polymargin::SparseRows<double, std::int64_t>;

POLYMARGIN_COMPILE_SINGLE_FIRST(Rows32)
POLYMARGIN_COMPILE_SINGLE_FIRST(Rows64)
