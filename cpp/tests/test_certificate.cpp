// The certificate holds for any dual variables and any weights, not only at the optimum.
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// A fit that is cut short is no optimum, and the certificate knows.
TEST(certificate, is_true_far_from_the_optimum) {
    for (const int k : {3, 40}) {
        const Shape shape{.n = 60, .d = 8, .k = k};
        const Data data(shape);
        LinearOptions options = tight();
        options.goal.tol = 1e-4;
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                const auto problem = data.problem(rows, machine);
                const double best = fit(problem, options).outcome.certificate.primal;
                LinearOptions hasty = options;
                hasty.goal.max_iter = 1;
                const auto result = fit(problem, hasty);
                const Certificate& certificate = result.outcome.certificate;
                CHECK_CLOSE(primal_of(problem, result.weights.packed()), certificate.primal, 1e-10);
                CHECK(certificate.primal >= best * (1 - 2e-4));
                CHECK(certificate.dual <= best * (1 + 2e-4));
                CHECK(feasible(problem, result.duals));
            });
        }
    }
}

// Dual variables outside their bounds are cut before anything is claimed of them.
TEST(certificate, cuts_what_is_infeasible) {
    const Shape shape;
    const Data data(shape);
    const Dense rows = data.rows<Dense>();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto problem = data.problem(rows, machine);
        const double best = fit(problem, tight()).outcome.certificate.primal;
        Fit<Dense> wild(problem);
        std::vector<DualEntry<float>> row;
        for (std::size_t i = 0; i < shape.n; ++i) {
            row.clear();
            for (std::int32_t c = 0; c < shape.k; ++c) {
                const bool own = c == problem.labels[i];
                if (own ? machine.has_own : machine.has_others) row.push_back({c, 10.0f});
            }
            wild.duals.assign(i, row);
        }
        const Certificate certificate = certify(problem, wild.duals, wild.weights, 1);
        CHECK(certificate.dual <= best * (1 + 2e-6));
        CHECK(certificate.primal >= best * (1 - 2e-6));
    }
}

TEST(certificate, compensated_sum_keeps_small_terms) {
    CompensatedSum sum;
    sum += 1e16;
    for (int term = 0; term < 1000; ++term) sum += 1.0;
    sum += -1e16;
    CHECK(sum.value() == 1000);
}

}  // namespace
}  // namespace polymargin::testing
