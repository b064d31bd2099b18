// Loss and optimality of one example, in double: what a certificate is summed up from.
//
// The scores of an example may be held in parts, by class. Each holder finds what its classes say:
// first the head, which is added up over the holders, then with that the part, which is added up
// again and joined. Where all classes are here, the three steps are one call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/feasible.hpp"
#include "polymargin/fit/certificate.hpp"
#include "polymargin/lanes.hpp"
#include "polymargin/machine.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

// What every holder has to know of an example.
struct ExampleHead {
    double own_score = 0;  // f_y
    double total = 0;      // sum_c beta_c

    void add(const ExampleHead& other) {
        own_score += other.own_score;
        total += other.total;
    }
};

// What some of the classes say.
struct ExamplePart {
    double others = 0, own = 0;                               // sums of max(0, g_c), max(0, g_y)
    double top = 0;                                           // max(0, g)
    double lowest = std::numeric_limits<double>::infinity();  // g of a variable in use
    double worst = 0;                                         // violation of a box
    double margin_sum = 0, product = 0;                       // sum_c beta_c t_c, sum_c beta_c g_c

    void add(const ExamplePart& other) {
        others += other.others;
        own += other.own;
        top = std::max(top, other.top);
        lowest = std::min(lowest, other.lowest);
        worst = std::max(worst, other.worst);
        margin_sum += other.margin_sum;
        product += other.product;
    }
};

// Takes the scores of an example, centred over all classes where the machine is zero-sum.
class ExampleCheck {
public:
    // A variable counts as at its bound from `rounded` times that on.
    ExampleCheck(const Machine& machine, const Lanes& lanes, double rounded)
        : machine_(machine),
          lanes_(lanes),
          rounded_(rounded),
          own_margin_(machine.own_margin(lanes.classes())),
          g_(simd::padded<double>(lanes.size())) {}

    double* scores() { return g_.data(); }  // of the lanes; padded
    std::size_t size() const { return g_.size(); }

    template <class Variables>
    ExampleOutcome operator()(const Variables& duals, std::size_t i, std::int32_t y, double C) {
        const ExampleHead head = find_head(duals, i, y, C);
        return join(head, find_part(head, duals, i, y, C), C);
    }

    // Of the dual variables those of the classes held here count.
    template <class Variables>
    ExampleHead find_head(const Variables& duals, std::size_t i, std::int32_t y, double C) const {
        const int own = lanes_.lane_of(y);
        return {own < 0 ? 0 : g_[static_cast<std::size_t>(own)],
                sum_within_bounds(machine_, Held{duals, lanes_}, i, y, C)};
    }

    template <class Variables>
    ExamplePart find_part(const ExampleHead& head, const Variables& duals, std::size_t i,
                          std::int32_t y, double C) {
        // Where the machine is zero-sum, the scores have lost their mean already.
        const auto [shift, own] = machine_.gradients(head.own_score, 0.0, lanes_.classes());
        const int own_lane = lanes_.lane_of(y);
        const int size = lanes_.size();
        for (int c = 0; c < size; ++c) g_[c] = machine_.has_others ? g_[c] + shift : never;
        for (std::size_t c = size; c < g_.size(); ++c) g_[c] = never;
        if (own_lane >= 0) g_[own_lane] = machine_.has_own ? own : never;
        simd::Sum<double> sum;
        simd::Largest<double> top(0);
        simd::for_each_pack<double>(g_.size(), [&]<class P>(std::size_t at, P) {
            const P g = simd::load<P>(g_.data() + at);
            sum.add(simd::max(g, P{}));
            top.add(g);
        });
        ExamplePart part{.top = top.value()};
        part.own = own_lane >= 0 && machine_.has_own ? std::max(0.0, own) : 0;
        part.others = sum.value() - part.own;
        const auto see = [&](std::int32_t c, double beta) {
            double& g = g_[lanes_.lane_of(c)];
            part.margin_sum += beta * (c == y ? own_margin_ : Machine::other_margin);
            part.product += beta * g;
            part.lowest = std::min(part.lowest, g);
            part.worst = std::max(part.worst, -g);
            if (!machine_.simplex() && beta >= machine_.upper(c == y, C) * rounded_) g = 0;
        };
        for_each_feasible(machine_, Held{duals, lanes_}, i, y, C, head.total, see);
        if (!machine_.simplex()) {
            for (int c = 0; c < size; ++c) part.worst = std::max(part.worst, g_[c]);
        }
        return part;
    }

    // From the sums over all holders.
    ExampleOutcome join(const ExampleHead& head, const ExamplePart& all, double C) const {
        if (machine_.simplex()) {
            const double lowest =
                head.total < C * rounded_ ? std::min(all.lowest, 0.0) : all.lowest;
            return {C * all.top, all.margin_sum, all.product, std::max(0.0, all.top - lowest)};
        }
        const double loss = machine_.weight_other * all.others + machine_.weight_own * all.own;
        return {C * loss, all.margin_sum, all.product, all.worst};
    }

private:
    static constexpr double never = -std::numeric_limits<double>::infinity();

    const Machine& machine_;
    Lanes lanes_;
    double rounded_, own_margin_;
    std::vector<double> g_;
};

}  // namespace polymargin
