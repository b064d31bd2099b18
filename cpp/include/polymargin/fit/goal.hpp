// When a fit ends, and what it records on the way.
#pragma once

#include <cstdint>

#include "polymargin/fit/certificate.hpp"

namespace polymargin {

enum class Stopping { gap, kkt };

struct Goal {
    double tol = 1e-3;
    std::int64_t max_iter = 1000;  // passes over the data, counted by visits or steps
    Stopping stopping = Stopping::gap;
    bool has_gap = true;  // false where the objectives bound nothing: the kernel is indefinite
    bool record_passes = false;  // a record after every pass in place of one for every check

    bool by_gap() const { return has_gap && stopping == Stopping::gap; }
    // By a gap that may be known better than as the difference of two objectives.
    bool reached(double gap, double primal, double violation) const {
        return by_gap() ? gap <= tol * primal : violation <= tol;
    }
    bool reached(const Certificate& now) const {
        return reached(now.primal - now.dual, now.primal, now.violation);
    }
};

}  // namespace polymargin
