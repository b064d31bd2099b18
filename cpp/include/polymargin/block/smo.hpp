// Simplex blocks (CS, ADM, ATM) by sequential minimal optimisation: inexact. Blondel et al.
// (2014), supplement A; Bordes et al. (2007). The slack of sum_c b_c <= capacity is a variable of
// gradient 0, so that mass moves between pairs: to p, the largest gradient, from the q with b > 0
// in turn. The step is exact, lambda = (G_p - G_q)/(Q_pp - 2 Q_pq + Q_qq), at most b_q.
#pragma once

#include <algorithm>

#include "polymargin/block/variables.hpp"

namespace polymargin::block {

template <class T>
Thresholds<T> smo(Block<T>& block, Variables& variables, int max_iter) {
    variables.read(block);
    const std::size_t slack = variables.size();
    double free_mass = std::max(0.0, variables.capacity - variables.sum());
    const auto gradient = [&](std::size_t p) { return p == slack ? 0.0 : variables.gradient(p); };
    const auto sign = [&](std::size_t p) { return p == slack ? 0.0 : variables.sign[p]; };
    const auto mass = [&](std::size_t p) { return p == slack ? free_mass : variables.b[p]; };
    const auto move = [&](std::size_t p, double step) {
        if (p == slack) free_mass += step;
        else variables.move(p, step);
    };
    // One round over all q or, where the number of steps is given, as many as it takes.
    const std::size_t round = variables.size() + 1, steps = max_iter > 0 ? max_iter : round;
    std::size_t taken = 0, idle = 0;
    for (std::size_t at = 0; taken < steps && idle < round; ++at) {
        if (max_iter == 0 && at == round) break;
        const std::size_t q = at % round;
        ++idle;
        if (mass(q) <= 0) continue;
        std::size_t p = slack;
        double top = 0;
        for (std::size_t r = 0; r < variables.size(); ++r) {
            const double g = variables.gradient(r);
            if (g > top) top = g, p = r;
        }
        const double drive = top - gradient(q);
        if (p == q || drive <= 0) continue;
        ++taken;
        idle = 0;
        const double s = sign(p) - sign(q);
        const double curvature = (p != slack) + (q != slack) + variables.rho * s * s;
        const double wanted = curvature > 0 ? drive / curvature : mass(q);
        const double moved = std::min(wanted, mass(q));
        move(p, moved);
        if (q != slack && moved == variables.b[q]) {
            variables.total -= variables.sign[q] * moved;
            variables.b[q] = 0;
        } else {
            move(q, -moved);
        }
    }
    return variables.write(block);
}

}  // namespace polymargin::block
