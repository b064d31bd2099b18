// What a certificate is summed up from: loss and optimality of one example, in double.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/feasible.hpp"
#include "polymargin/machine.hpp"
#include "polymargin/simd.hpp"
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

// Takes the scores of an example, centred where the machine is zero-sum.
class ExampleCheck {
public:
    ExampleCheck(const Machine& machine, int k, double rounded)
        : machine_(machine),
          k_(k),
          rounded_(rounded),
          own_margin_(machine.own_margin(k)),
          g_(simd::padded<double>(k)) {}

    double* scores() { return g_.data(); }

    struct Outcome {
        double loss;        // C L(f)
        double margin_sum;  // sum_c beta_c t_c
        double product;     // sum_c beta_c g_c
        double violation;
    };

    template <class Variables>
    Outcome operator()(const Variables& duals, std::size_t i, std::int32_t y, double C) {
        const double own = own_margin_ - g_[y];
        const double base = Machine::other_margin - (machine_.relative ? g_[y] : 0);
        for (int c = 0; c < k_; ++c) g_[c] = machine_.has_others ? g_[c] + base : never;
        for (std::size_t c = k_; c < g_.size(); ++c) g_[c] = never;
        g_[y] = machine_.has_own ? own : never;
        simd::Sum<double> sum;
        simd::Largest<double> top(0);
        simd::for_each_pack<double>(g_.size(), [&]<class P>(std::size_t at, P) {
            const P g = simd::load<P>(g_.data() + at);
            sum.add(simd::max(g, P{}));
            top.add(g);
        });
        double lowest = std::numeric_limits<double>::infinity(), worst = 0, margin_sum = 0,
               product = 0;
        const double total =
            for_each_feasible(machine_, duals, i, y, C, [&](std::int32_t c, double beta) {
                margin_sum += beta * (c == y ? own_margin_ : Machine::other_margin);
                product += beta * g_[c];
                lowest = std::min(lowest, g_[c]);
                worst = std::max(worst, -g_[c]);
                const double weight = c == y ? machine_.weight_own : machine_.weight_other;
                if (!machine_.simplex() && beta >= C * weight * rounded_) g_[c] = 0;
            });
        if (machine_.simplex()) {
            if (total < C * rounded_) lowest = std::min(lowest, 0.0);
            return {C * top.value(), margin_sum, product, std::max(0.0, top.value() - lowest)};
        }
        const double own_loss = std::max(0.0, machine_.has_own ? own : 0.0);
        const double loss =
            machine_.weight_other * (sum.value() - own_loss) + machine_.weight_own * own_loss;
        for (int c = 0; c < k_; ++c) worst = std::max(worst, g_[c]);
        return {C * loss, margin_sum, product, worst};
    }

private:
    static constexpr double never = -std::numeric_limits<double>::infinity();

    const Machine& machine_;
    int k_;
    double rounded_, own_margin_;
    std::vector<double> g_;
};

// Outcomes of all examples summed up, where |W|^2 = sum_i a_i^T f_i is not known otherwise.
class CertificateSums {
public:
    void add(const ExampleCheck::Outcome& seen) {
        loss_ += seen.loss;
        margins_ += seen.margin_sum;
        norm_ += seen.margin_sum - seen.product;
        violation_ = std::max(violation_, seen.violation);
    }
    void add(const CertificateSums& part) {
        loss_ += part.loss_.value();
        margins_ += part.margins_.value();
        norm_ += part.norm_.value();
        violation_ = std::max(violation_, part.violation_);
    }
    Certificate certificate() const {
        const double half = 0.5 * norm_.value();
        return {half + loss_.value(), margins_.value() - half, violation_};
    }

private:
    CompensatedSum loss_, margins_, norm_;
    double violation_ = 0;
};

}  // namespace polymargin
