// Fits that start from the dual variables of another.
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

TEST(warm_start, at_the_optimum_ends_at_once) {
    for (const int k : {5, 40}) {
        const Shape shape{.k = k};
        const Data data(shape);
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                const auto problem = data.problem(rows, machine);
                LinearOptions options = tight();
                options.second_order = false;  // its weights are those of its dual variables
                auto result = fit(problem, options);
                options.goal.tol = 1e-5;
                // The weights follow from the dual variables, so they may start at zero.
                result.weights = problem.template weights<Store<typename Rows::value_type>>();
                result.outcome = train(problem, options, result.duals, result.weights, {});
                check_optimal(problem, result, options.goal.tol);
                CHECK(result.outcome.n_iter <= 2);
            });
        }
    }
}

TEST(warm_start, from_another_C_reaches_the_same_optimum) {
    for (const double factor : {0.3, 3.0}) {
        for (const int k : {5, 40}) {
            const Shape shape{.k = k};
            const Data data(shape);
            Data changed = data;
            for (double& C : changed.upper) C *= factor;
            for (const Machine& machine : registered_machines) {
                for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                    context() = describe(machine, shape, Rows::is_sparse);
                    const auto start = fit(data.problem(rows, machine), tight());
                    const auto problem = changed.problem(rows, machine);
                    const auto cold = fit(problem, tight());
                    Fit<Rows> warm(problem);
                    clip_into(start.duals, problem, warm.duals);
                    warm.outcome = train(problem, tight(), warm.duals, warm.weights, Observer{});
                    check_optimal(problem, warm, 1e-6);
                    CHECK_CLOSE(warm.outcome.certificate.primal, cold.outcome.certificate.primal,
                                3e-6);
                });
            }
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
