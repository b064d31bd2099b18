// Simplex blocks without an own variable (CS, ADM) by sorting: O(k log k), exact. Shalev-Shwartz
// & Singer (2006); Blondel et al. (2014), algorithm 2. With m classes above theta and S the sum
// of their z, h(theta) = S - m theta, and the increasing functions
//
//     lambda(theta) = theta - rho (h(theta) - B)      where sum_c b_c < capacity,
//     F(theta)      = capacity - h(theta)              where it is reached,
//
// are linear between the sorted z; the root lies where the sign changes.
#pragma once

#include <functional>
#include <vector>

#include "polymargin/block/block.hpp"

namespace polymargin::block {

// The increasing function whose root theta is, as a function of theta, m and S.
struct SimplexRoot {
    double rho, total, capacity, offset;
    bool full;  // sum_c b_c = capacity at the solution

    template <class T>
    explicit SimplexRoot(const Block<T>& block)
        : rho(block.rho), total(block.total), capacity(block.capacity), offset(block.offset) {
        const double theta = rho * (capacity - total) - offset;
        double h = 0;
        for (int at = 0; at < block.count; ++at) h += std::max(0.0, block.z[at] - theta);
        full = h >= capacity;
    }

    double value(double theta, double m, double S) const {
        const double h = S - m * theta;
        return full ? capacity - h : theta + offset - rho * (h - total);
    }
    double root(double m, double S) const {
        if (full) return (S - capacity) / m;
        return (rho * (S - total) - offset) / (1 + rho * m);
    }
};

template <class T>
Thresholds<T> sort(const Block<T>& block, std::vector<double>& z) {
    const SimplexRoot function(block);
    z.assign(block.z, block.z + block.count);
    std::sort(z.begin(), z.end(), std::greater<>());
    double S = 0;
    std::size_t m = 0;
    while (m < z.size() && function.value(z[m], double(m), S) > 0) S += z[m++];
    return {T(function.root(double(m), S)), T(0)};
}

}  // namespace polymargin::block
