// What a fit claims: two bounds on the optimum, P from above and D from below, in double.
#pragma once

#include <algorithm>
#include <limits>

#include "polymargin/sums.hpp"

namespace polymargin {

// (P - D) / P; 0 where rounding has put P below D, NaN where P is no objective: it overflowed, or
// a kernel is indefinite.
inline double relative_gap(double primal, double dual) {
    if (!(primal >= 0)) return std::numeric_limits<double>::quiet_NaN();
    return primal <= dual ? 0 : (primal - dual) / primal;
}

struct Certificate {
    double primal, dual, violation;
    double gap() const { return relative_gap(primal, dual); }
};

// What one example adds to it.
struct ExampleOutcome {
    double loss;        // C L(f)
    double margin_sum;  // sum_c beta_c t_c
    double product;     // sum_c beta_c g_c
    double violation;   // of the optimality conditions
};

// What examples add to it. Parts that threads, batches or ranks have summed up add up.
struct CertificateSums {
    CompensatedSum loss, margins, norm;  // norm: |W|^2 = sum_i a_i^T f_i
    double violation = 0;

    void add(const ExampleOutcome& seen) {
        loss += seen.loss;
        margins += seen.margin_sum;
        norm += seen.margin_sum - seen.product;
        violation = std::max(violation, seen.violation);
    }
    void add(const CertificateSums& part) {
        loss += part.loss.value();
        margins += part.margins.value();
        norm += part.norm.value();
        violation = std::max(violation, part.violation);
    }

    // Where the weights are known by their scores alone.
    Certificate certificate() const { return certificate(norm.value(), norm.value()); }

    // With the squared norms of the weights U of P and of W = sum_i a_i x_i^T.
    Certificate certificate(double norm_U, double norm_W) const {
        CompensatedSum primal, dual;
        primal += 0.5 * norm_U;
        primal += loss.value();
        dual += margins.value();
        dual += -0.5 * norm_W;
        return {primal.value(), dual.value(), violation};
    }
};

}  // namespace polymargin
