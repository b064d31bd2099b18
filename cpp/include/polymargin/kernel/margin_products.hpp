// Inner products of the vectors nu that tie a hinge to the scores of the classes (machine.hpp):
//
//     Q_(ic),(jd) = K_ij (nu_c^T nu_d - [zero-sum] (1^T nu_c)(1^T nu_d) / k)
//
// with nu_c of an example of class y and nu_d of one of class z.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "polymargin/machine.hpp"

namespace polymargin {

class MarginProducts {
public:
    MarginProducts(const Machine& machine, int k) : machine_(machine), k_(k) {}

    double operator()(std::int32_t y, std::int32_t c, std::int32_t z, std::int32_t d) const {
        if (machine_.relative) return double(y == z) - (y == d) - (c == z) + (c == d);
        const double signs = (c == y) == (d == z) ? 1 : -1;
        return signs * ((c == d) - (machine_.zero_sum ? 1.0 / k_ : 0.0));
    }

    // nu_c^T nu_c, the same for every variable.
    double own() const { return machine_.relative ? 2 : machine_.zero_sum ? 1 - 1.0 / k_ : 1; }

    // |nu_c - nu_d|^2 inside an example of class y; `none` stands for a vector of zeros.
    static constexpr std::int32_t none = -1;
    double distance(std::int32_t y, std::int32_t c, std::int32_t d) const {
        if (c == none || d == none) return c == d ? 0 : own();
        return 2 * (own() - (*this)(y, c, y, d));
    }
    // The smallest of those that are not 0.
    double least_distance() const {
        double least = std::min(2.0, own());
        if (!machine_.relative && machine_.has_own) {
            const double opposite = machine_.zero_sum ? 2 - 4.0 / k_ : 2;
            if (opposite > 0) least = std::min(least, opposite);
        }
        return least;
    }

private:
    const Machine& machine_;
    int k_;
};

}  // namespace polymargin
