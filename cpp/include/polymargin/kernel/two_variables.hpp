// The problem of two variables in their box, and how much two variables could gain without one:
// Doğan et al. (2011), appendix A.
//
//     max_mu  g^T mu - 1/2 mu^T Q mu,     lower <= mu <= upper,     Q symmetric, 2 x 2
//
// Q positive semi-definite may have rank two, one or zero. A matrix of an indefinite kernel may
// have a negative determinant; it then has no finite gain, and the optimum is on an edge.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace polymargin {

struct TwoVariables {
    using Pair = std::array<double, 2>;

    Pair g;
    double Q_ii, Q_ij, Q_jj;

    double value(const Pair& mu) const {
        return g[0] * mu[0] + g[1] * mu[1] -
               0.5 * (Q_ii * mu[0] * mu[0] + 2 * Q_ij * mu[0] * mu[1] + Q_jj * mu[1] * mu[1]);
    }
    double determinant() const { return Q_ii * Q_jj - Q_ij * Q_ij; }

    enum class Rank { zero, one, two, indefinite };
    Rank rank() const {
        constexpr double rounding = 1e-10;  // of a determinant that should be 0
        if (Q_ii <= 0 && Q_jj <= 0 && Q_ij == 0) return Rank::zero;
        const double scale = std::max(Q_ii * Q_jj, Q_ij * Q_ij), det = determinant();
        if (det > rounding * scale) return Rank::two;
        return det < -rounding * scale ? Rank::indefinite : Rank::one;
    }

    // A vector that Q of rank one maps to 0.
    Pair null_vector() const { return Q_ii >= Q_jj ? Pair{-Q_ij, Q_ii} : Pair{Q_jj, -Q_ij}; }
};

// Of the optimum without bounds (A.1); infinity where there is none.
inline double two_variable_gain(const TwoVariables& problem) {
    using enum TwoVariables::Rank;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto& [g, Q_ii, Q_ij, Q_jj] = problem;
    const double length = g[0] * g[0] + g[1] * g[1];
    if (length == 0) return 0;
    switch (problem.rank()) {
        case two:
            return (g[0] * g[0] * Q_jj - 2 * g[0] * g[1] * Q_ij + g[1] * g[1] * Q_ii) /
                   (2 * problem.determinant());
        case one: {
            const auto q = problem.null_vector();
            const double slope = g[0] * q[0] + g[1] * q[1];
            if (slope * slope > 1e-16 * length * (q[0] * q[0] + q[1] * q[1])) return infinity;
            const double curvature =
                g[0] * g[0] * Q_ii + 2 * g[0] * g[1] * Q_ij + g[1] * g[1] * Q_jj;
            return length * length / (2 * curvature);
        }
        default: return infinity;
    }
}

namespace detail {

// The best of the points offered, all of them in the box. Where one variable sits at a bound, the
// other one solves a problem of one variable.
class BoxSearch {
public:
    using Pair = TwoVariables::Pair;

    BoxSearch(const TwoVariables& problem, const Pair& lower, const Pair& upper)
        : problem_(problem), lower_(lower), upper_(upper) {}

    // The edge on which variable v sits at its upper or lower bound.
    void edge(int v, bool at_upper) {
        const int other = 1 - v;
        Pair mu;
        mu[v] = at_upper ? upper_[v] : lower_[v];
        const double slope = problem_.g[other] - problem_.Q_ij * mu[v];
        const double curvature = v == 0 ? problem_.Q_jj : problem_.Q_ii;
        if (curvature > 0) {
            mu[other] = std::clamp(slope / curvature, lower_[other], upper_[other]);
        } else {
            mu[other] = follow(slope, other);
        }
        if (const double value = problem_.value(mu); value > value_) value_ = value, best_ = mu;
    }

    // To the bound that a linear function points at.
    double follow(double slope, int v) const {
        return slope > 0   ? upper_[v]
               : slope < 0 ? lower_[v]
                           : std::clamp(0.0, lower_[v], upper_[v]);
    }

    const Pair& best() const { return best_; }

private:
    const TwoVariables& problem_;
    const Pair &lower_, &upper_;
    Pair best_{};
    double value_ = -std::numeric_limits<double>::infinity();
};

}  // namespace detail

// The optimum in the box (A.2).
inline TwoVariables::Pair solve_two_variables(const TwoVariables& problem,
                                              const TwoVariables::Pair& lower,
                                              const TwoVariables::Pair& upper) {
    using enum TwoVariables::Rank;
    const auto& [g, Q_ii, Q_ij, Q_jj] = problem;
    detail::BoxSearch search(problem, lower, upper);
    switch (problem.rank()) {
        case zero: return {search.follow(g[0], 0), search.follow(g[1], 1)};
        case two: {
            const double det = problem.determinant();
            const TwoVariables::Pair mu{(Q_jj * g[0] - Q_ij * g[1]) / det,
                                        (Q_ii * g[1] - Q_ij * g[0]) / det};
            bool inside = true;
            for (const int v : {0, 1}) {
                if (mu[v] >= lower[v] && mu[v] <= upper[v]) continue;
                search.edge(v, mu[v] > upper[v]);
                inside = false;
            }
            return inside ? mu : search.best();
        }
        case one: {
            // The objective is linear along q: the optimum is where such lines leave the box.
            const auto q = problem.null_vector();
            const double uphill = g[0] * q[0] + g[1] * q[1] < 0 ? -1 : 1;
            for (const int v : {0, 1}) {
                if (q[v] != 0) search.edge(v, uphill * q[v] > 0);
            }
            return search.best();
        }
        case indefinite: break;
    }
    for (const int v : {0, 1}) {
        search.edge(v, false);
        search.edge(v, true);
    }
    return search.best();
}

}  // namespace polymargin
