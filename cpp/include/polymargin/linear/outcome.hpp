// What a fit of a linear machine reached.
#pragma once

#include <cstdint>

#include "polymargin/fit/certificate.hpp"

namespace polymargin {

struct LinearOutcome {
    Certificate certificate;
    std::int64_t n_iter;
    bool converged;
};

}  // namespace polymargin
