// One check of the whole problem, as the history of a fit has it.
#pragma once

#include <cstdint>

namespace polymargin {

struct Record {
    double epoch, seconds, primal, dual, gap, violation;
    std::int64_t active;  // examples that are looked at
};

}  // namespace polymargin
