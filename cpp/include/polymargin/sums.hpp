// Compensated summation (Neumaier): objectives are sums of many terms of one sign, and the gap is
// their small difference.
#pragma once

#include <cmath>

namespace polymargin {

class CompensatedSum {
public:
    CompensatedSum& operator+=(double term) {
        const double next = sum_ + term;
        lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
        sum_ = next;
        return *this;
    }
    double value() const { return sum_ + lost_; }

private:
    double sum_ = 0, lost_ = 0;
};

}  // namespace polymargin
