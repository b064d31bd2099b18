// No progress for many checks: the limit of the precision.
#pragma once

#include <cmath>
#include <limits>

namespace polymargin {

class Stall {
public:
    // So many checks, and the relative rise that counts as progress.
    Stall(int patience, double least) : patience_(patience), least_(least) {}

    // Of something that should rise: D, or the gap with its sign turned.
    bool operator()(double value) {
        if (value > best_ + least_ * std::abs(best_) || best_ == never) {
            best_ = value;
            since_ = 0;
        } else {
            ++since_;
        }
        return since_ >= patience_;
    }

    // There was progress of another kind.
    void reset() { since_ = 0; }

private:
    static constexpr double never = -std::numeric_limits<double>::infinity();
    int patience_;
    double least_, best_ = never;
    int since_ = 0;
};

}  // namespace polymargin
