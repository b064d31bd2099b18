// A look at every example without moving it: the true gap, and who has something to gain.
#pragma once

#include <algorithm>
#include <vector>

#include "polymargin/linear/active_set.hpp"
#include "polymargin/linear/sweep.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

struct Look {
    double gap = 0, loss = 0, violation = 0;
    std::vector<char> stable;  // by position in the order
};

// `interrupted(position)` is asked by one thread; where it says so, what was seen is not the whole.
template <class Rows, WeightStore Store, class T, class Interrupted>
Look look_at_all(Sweep<Rows, Store>& sweep, const ActiveSet& examples, T threshold, int threads,
                 Interrupted&& interrupted) {
    struct Part {
        CompensatedSum gap, loss;
        double violation = 0;
    };
    const std::size_t n = examples.all().size(), count = crew_for(n, threads);
    std::vector<Part> parts(count);
    Look look{.stable = std::vector<char>(n)};
    run_crew(count, [&](std::size_t t) {
        Part& part = parts[t];
        Visitor<Rows, Store>& visitor = sweep.visitor(static_cast<int>(t));
        for (std::size_t at = n * t / count; at < n * (t + 1) / count; ++at) {
            sweep.look_ahead(examples.all(), at, 1);
            const State state = visitor.prepare(examples[at], threshold);
            const Report report = visitor.report();
            visitor.discard();
            part.gap += state.gap;
            part.loss += report.loss;
            part.violation = std::max(part.violation, report.violation);
            look.stable[at] = state.stable;
            if (t == 0 && interrupted(at)) break;
        }
    });
    CompensatedSum gap, loss;
    for (const Part& part : parts) {
        gap += part.gap.value();
        loss += part.loss.value();
        look.violation = std::max(look.violation, part.violation);
    }
    look.gap = std::max(0.0, gap.value());  // rounding can make it negative
    look.loss = loss.value();
    return look;
}

}  // namespace polymargin
