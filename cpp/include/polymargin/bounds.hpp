// The bounds C_i > 0 of a problem, one for each example or one for all.
#pragma once

#include <cstddef>
#include <ranges>

namespace polymargin {

class Bounds {
public:
    template <std::ranges::contiguous_range Range>
    Bounds(const Range& each) : first_(std::ranges::data(each)), step_(1) {}
    Bounds(const double* first, std::ptrdiff_t step) : first_(first), step_(step) {}

    const double& operator[](std::size_t i) const {
        return first_[static_cast<std::ptrdiff_t>(i) * step_];
    }

private:
    const double* first_;
    std::ptrdiff_t step_;
};

}  // namespace polymargin
