// Box blocks by sorting break points: O(k log k), exact. Wang & Scott (2021), algorithm 2, for
// WW; the same sweep serves every box. In x = rho delta the function
//
//     psi(x) = sum_c clip(z_c - x) - clip(z_y + x) - B - x/rho
//
// falls with slope 1 for every x inside [z_c - u, z_c] and [-z_y, u_y - z_y]: a class enters at
// one end of its interval and leaves, at its bound, at the other. Sweeping x from above, value
// and slope are known at each end, and the root lies where psi changes sign.
#pragma once

#include <algorithm>
#include <vector>

#include "polymargin/block/block.hpp"

namespace polymargin::block {

struct BreakPoint {
    double x;
    int entering;  // variables that become free as x falls; below 0, that reach their bound
};

template <class T>
Thresholds<T> walrus(const Block<T>& block, std::vector<BreakPoint>& points) {
    if (block.rho == 0) return {0, 0};
    points.clear();
    const auto add = [&](double low, double high, int times = 1) {
        points.push_back({high, times});
        points.push_back({low, -times});
    };
    for (int at = 0; at < block.count; ++at) {
        const double z = block.z[at];
        // The own lane and classes far below every score never become free.
        if (z > -1e15 * double(block.upper)) add(z - block.upper, z);
    }
    if (block.group.count) {
        add(block.group.z - double(block.upper), block.group.z, block.group.count);
    }
    double x, value;
    if (block.upper_own > 0) add(-double(block.z_own), block.upper_own - double(block.z_own));
    if (points.empty()) return {0, 0};
    std::sort(points.begin(), points.end(),
              [](const BreakPoint& a, const BreakPoint& b) { return a.x > b.x; });
    const double base = -1.0 / block.rho;  // slope where no variable is free
    const int rising = block.rho > 0 ? -1 : +1;
    x = points.front().x;
    value = -double(block.upper_own) - block.total - x / block.rho;
    int free = 0;
    const auto root = [&] {
        const double slope = base - free;
        return slope != 0 ? x - value / slope : x;
    };
    double shift = root();  // above all break points
    if (rising * value > 0) {
        for (std::size_t at = 0; at < points.size(); ++at) {
            free += points[at].entering;
            if (at + 1 == points.size()) {
                shift = root();
                break;
            }
            const double next = value + (base - free) * (points[at + 1].x - x);
            if (rising * next <= 0) {
                shift = std::clamp(root(), points[at + 1].x, x);
                break;
            }
            value = next;
            x = points[at + 1].x;
        }
    }
    return {T(shift), T(-shift)};
}

}  // namespace polymargin::block
