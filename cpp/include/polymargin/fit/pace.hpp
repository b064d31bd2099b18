// How fast a gap falls: what it will still take, by its fall over the second half of the way.
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

}  // namespace polymargin
