// What is said of the passes and the rise that are left, and when weights are repaired.
#include <cmath>

#include "polymargin/fit/pace.hpp"
#include "polymargin/linear/repairs.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

double dual_after(double passes) { return 5 - std::exp(-0.2 * passes); }

TEST(pace, of_a_dual_objective_that_closes_in) {
    DualPace pace;
    for (const double passes : {3.0, 10.0, 14.0}) {
        CHECK(std::isinf(pace.left()));  // it takes two ways
        pace.see(passes, dual_after(passes));
    }
    CHECK(pace.left() > 0.5 * std::exp(-0.2 * 14));
    CHECK(pace.left() < 2 * std::exp(-0.2 * 14));
}

TEST(pace, nothing_is_said_of_a_rise_that_quickens) {
    DualPace pace;
    for (const double dual : {0.0, 1.0, 3.0, 7.0}) pace.see(dual + 1, dual * dual);
    CHECK(std::isinf(pace.left()));
    pace.see(9, 40);  // it fell
    CHECK(std::isinf(pace.left()));
}

TEST(pace, a_dual_objective_that_stands_still_has_nothing_left) {
    DualPace pace;
    pace.see(1, 2);
    pace.see(2, 3);
    pace.see(3, 3);
    CHECK(pace.left() == 0);
}

// Repairs wait for the dual variables, and leave what descent will soon have done to it.
TEST(pace, a_repair_is_due) {
    const Shape shape{.n = 60, .d = 40, .k = 4};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, *find_machine("ww"));
    const auto norms = working_norms(problem);
    using Weights = Store<Sparse::value_type>;
    Duals<Sparse::value_type> duals(problem.size(), problem.k);
    const double target = 1e-3;
    for (const double fall : {0.01, 0.5}) {           // of the gap in a pass
        for (const double dual_fall : {0.01, 0.5}) {  // likewise, of what the dual lacks
            for (const bool is_on : {true, false}) {
                LinearOptions options;
                options.second_order = is_on;
                BestWeights<Sparse, Weights> best(problem, 1);
                Repairs<Sparse, Weights> repairs(problem, options, norms, duals, best);
                for (int pass = 1; pass <= 20; ++pass) {
                    repairs.see_gap(pass, 0.1 * std::exp(-fall * pass));
                    if (pass % 5 == 0) repairs.see_dual(pass, 1 - std::exp(-dual_fall * pass));
                }
                CHECK(repairs.is_due(0.05, target) == (is_on && fall < 0.1 && dual_fall > 0.1));
                CHECK(!repairs.is_due(0.2, target));
            }
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
