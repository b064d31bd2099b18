// How fast a fit gets on: the passes that its gap will still take, by its fall over the second half
// of the way, and the rise that is left to its dual objective.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace polymargin {

class Pace {
public:
    void see(double passes, double gap) { seen_.push_back({passes, gap}); }
    void restart() { seen_.clear(); }

    // Passes since the first one seen.
    double way() const { return seen_.empty() ? 0 : seen_.back().passes - seen_.front().passes; }

    // Passes until the gap is `target`; infinite where it does not fall.
    double passes_to(double target) const {
        if (seen_.size() < 2) return 0;
        const double half = seen_.front().passes + way() / 2;
        const auto middle = std::find_if(seen_.begin(), seen_.end(),
                                         [&](const Seen& seen) { return seen.passes >= half; });
        const double fall = std::log(middle->gap / seen_.back().gap);
        if (!(fall > 0)) return std::numeric_limits<double>::infinity();
        const double rate = fall / (seen_.back().passes - middle->passes);
        return std::max(0.0, std::log(seen_.back().gap / target) / rate);
    }

private:
    struct Seen {
        double passes, gap;
    };
    std::vector<Seen> seen_;
};

// By how much less a dual objective rose over the last way than over the one before it.
class DualPace {
public:
    void see(double passes, double dual) {
        before_ = last_;
        last_ = {passes - passes_, dual - dual_};
        passes_ = passes, dual_ = dual;
    }

    // What it will rise for ever, were that to go on; infinite where it rises faster and faster.
    double left() const {
        if (!(before_.passes > 0 && last_.passes > 0 && last_.rise >= 0)) return infinity;
        const double slope = last_.rise / last_.passes, earlier = before_.rise / before_.passes;
        if (!(slope < earlier)) return infinity;
        if (slope == 0) return 0;
        const double rate = 2 * std::log(earlier / slope) / (before_.passes + last_.passes);
        return slope / rate * std::exp(-rate * last_.passes / 2);
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Way {
        double passes = 0, rise = 0;
    };
    Way before_, last_;
    double passes_ = 0, dual_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace polymargin
