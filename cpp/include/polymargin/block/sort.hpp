// Simplex blocks without an own variable (CS, ADM) by sorting: O(k log k), exact. Shalev-Shwartz
// & Singer (2006); Blondel et al. (2014), algorithm 2. With m classes above theta and S the sum
// of their z, h(theta) = S - m theta, and the increasing functions
//
//     lambda(theta) = theta - rho (h(theta) - B)      where sum_c b_c < capacity,
//     F(theta)      = capacity - h(theta)              where it is reached,
//
// are linear between the sorted z; the root lies where the sign changes.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
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
        h += block.group.count * std::max(0.0, block.group.z - theta);
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

// The z of all classes, the group's once; how often that counts, wherever it is met first.
template <class T>
int read_values(const Block<T>& block, std::vector<double>& z) {
    z.assign(block.z, block.z + block.count);
    if (block.group.count) z.push_back(block.group.z);
    return block.group.count;
}

template <class T>
Thresholds<T> sort(const Block<T>& block, std::vector<double>& z) {
    const SimplexRoot function(block);
    int group = read_values(block, z);
    std::sort(z.begin(), z.end(), std::greater<>());
    double S = 0, m = 0;
    for (const double value : z) {
        if (!(function.value(value, m, S) > 0)) break;
        const bool is_group = group && value == block.group.z;
        const int times = is_group ? std::exchange(group, 0) : 1;
        S += times * value;
        m += times;
    }
    return {T(function.root(m, S)), T(0)};
}

}  // namespace polymargin::block
