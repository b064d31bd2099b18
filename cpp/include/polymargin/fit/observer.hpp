// What the caller may do while a fit runs.
#pragma once

#include <functional>

#include "polymargin/fit/record.hpp"

namespace polymargin {

// Both return true to stop the fit.
struct Observer {
    std::function<bool(const Record&)> on_check;
    std::function<bool()> interrupted;  // asked several times a second
};

}  // namespace polymargin
