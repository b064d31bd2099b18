// Any block by Frank-Wolfe steps: inexact. Blondel et al. (2014), supplement B; Lacoste-Julien et
// al. (2013). The corner v that the gradient points to is C e_p for the largest gradient of a
// simplex (0 if none is positive) and the bound of every positive gradient in a box; the step
// towards it is the exact line search, at most 1.
#pragma once

#include <algorithm>

#include "polymargin/block/variables.hpp"

namespace polymargin::block {

template <class T>
Thresholds<T> frank_wolfe(Block<T>& block, Variables& variables, std::vector<double>& direction,
                          int max_iter) {
    variables.read(block);
    const std::size_t m = variables.size();
    for (int step = 0; step < std::max(1, max_iter); ++step) {
        direction.assign(m, 0);
        std::size_t best = m;
        double top = 0;
        for (std::size_t p = 0; p < m; ++p) {
            const double g = variables.gradient(p);
            if (!variables.simplex && g > 0) direction[p] = variables.upper[p];
            if (g > top) top = g, best = p;
        }
        if (variables.simplex && best < m) direction[best] = variables.capacity;
        double slope = 0, square = 0, along = 0;
        for (std::size_t p = 0; p < m; ++p) {
            direction[p] -= variables.b[p];
            slope += variables.gradient(p) * direction[p];
            square += direction[p] * direction[p];
            along += variables.sign[p] * direction[p];
        }
        if (slope <= 0) break;
        const double curvature = square + variables.rho * along * along;
        const double gamma = curvature > 0 ? std::min(1.0, slope / curvature) : 1;
        for (std::size_t p = 0; p < m; ++p) variables.move(p, gamma * direction[p]);
    }
    return variables.write(block);
}

}  // namespace polymargin::block
