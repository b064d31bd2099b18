// Simplex blocks without an own variable (CS, ADM) by randomised pivots: expected O(k), exact.
// Duchi et al. (2008), figure 2, for the root functions of sort.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "polymargin/block/sort.hpp"
#include "polymargin/random.hpp"

namespace polymargin::block {

template <class T>
Thresholds<T> pivot(const Block<T>& block, std::vector<double>& z, Random& random) {
    const SimplexRoot function(block);
    int group = read_values(block, z);  // of what is left
    double S = 0, m = 0;                // of the classes known to lie above theta
    auto first = z.begin(), last = z.end();
    while (first != last) {
        const auto count = static_cast<std::uint32_t>(last - first);
        const double candidate = *(first + random.below(count));
        const auto above = std::partition(first, last, [&](double v) { return v > candidate; });
        double sum = 0;
        for (auto at = first; at != above; ++at) sum += *at;
        // The group is met once and counts for all its classes.
        const bool group_above = group && block.group.z > candidate;
        const double more = group_above ? group - 1 : 0;
        sum += more * block.group.z;
        if (function.value(candidate, m + double(above - first) + more, S + sum) > 0) {
            // theta < candidate: it and all that equals it lie above theta, too.
            const auto equal =
                std::partition(above, last, [&](double v) { return v == candidate; });
            const bool group_equal = group && block.group.z == candidate;
            const double equals = double(equal - above) + (group_equal ? group - 1 : 0);
            S += sum + candidate * equals;
            m += double(above - first) + more + equals;
            if (group_above || group_equal) group = 0;
            first = equal;
        } else {
            if (!group_above) group = 0;
            last = above;
        }
    }
    return {T(function.root(m, S)), T(0)};
}

}  // namespace polymargin::block
