// Fits in double whose sweeps begin in single precision.
#include <limits>
#include <vector>

#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

const Shape listed{.n = 150, .d = 30, .k = 34, .C = 0.3, .density = 0.3};
constexpr double never = std::numeric_limits<double>::infinity();

// Any size begins so.
LinearOptions loose() { return {.goal = {.tol = 1e-3}, .single_from = 0}; }

template <class Body>
void for_some_machines(const Data& data, Body&& body) {
    const Sparse rows = data.rows<Sparse>();
    for (const Machine& machine : registered_machines) {
        context() = describe(machine, data.shape, true);
        body(data.problem(rows, machine));
    }
}

void check_same(const Fit<Sparse>& one, const Fit<Sparse>& other) {
    CHECK(one.outcome.n_iter == other.outcome.n_iter);
    CHECK(one.outcome.certificate.primal == other.outcome.certificate.primal);
    CHECK(one.outcome.certificate.dual == other.outcome.certificate.dual);
    CHECK(one.weights.packed() == other.weights.packed());
}

TEST(single_first, the_certificate_is_of_double_precision) {
    for (const Shape& shape :
         {listed, Shape{.n = 300, .d = 30, .k = 12, .C = 0.1, .bias = false}}) {
        for_some_machines(Data(shape), [](const auto& problem) {
            const auto result = fit(problem, loose());
            CHECK(result.outcome.converged);
            CHECK(result.outcome.n_iter > 0);
            check_optimal(problem, result, 1e-3);
            const auto again = fit(problem, loose());
            check_same(result, again);
        });
    }
}

TEST(single_first, passes_are_about_those_of_double) {
    for_some_machines(Data(listed), [](const auto& problem) {
        LinearOptions options = loose();
        const auto single = fit(problem, options);
        options.single_from = never;
        const auto twice = fit(problem, options);
        CHECK(twice.weights.packed() != single.weights.packed());
        CHECK(single.outcome.n_iter <= 2 * twice.outcome.n_iter + 10);
        CHECK_CLOSE(single.outcome.certificate.dual, twice.outcome.certificate.dual, 2e-3);
    });
}

TEST(single_first, a_small_gap_is_a_matter_of_double_alone) {
    for_some_machines(Data(listed), [](const auto& problem) {
        LinearOptions options{.goal = {.tol = 1e-5, .max_iter = 50}, .single_from = 0};
        const auto one = fit(problem, options);
        options.single_from = never;
        check_same(one, fit(problem, options));
    });
}

TEST(single_first, values_beyond_single_precision_are_left_to_double) {
    Data data(listed);
    for (double& value : data.entries) value *= 1e30;
    for (double& norm : data.norms) norm *= 1e60;
    for (double& C : data.upper) C *= 1e-10;
    for_some_machines(data, [](const auto& problem) {
        LinearOptions options = loose();
        options.goal.max_iter = 30;
        const auto one = fit(problem, options);
        options.single_from = never;
        check_same(one, fit(problem, options));
    });
}

TEST(single_first, checks_see_the_dual_variables_and_go_on_counting) {
    for_some_machines(Data(listed), [](const auto& problem) {
        Fit<Sparse> result(problem);
        std::vector<Record> records;
        const Observer observer{.on_check =
                                    [&](const Record& record) {
                                        CHECK(feasible(problem, result.duals));
                                        CHECK_CLOSE(dual_of(problem, result.duals), record.dual,
                                                    1e-3);
                                        if (!records.empty()) {
                                            CHECK(record.epoch >= records.back().epoch);
                                            CHECK(record.seconds >= records.back().seconds);
                                        }
                                        records.push_back(record);
                                        return false;
                                    },
                                .interrupted = nullptr};
        result.outcome = train(problem, loose(), result.duals, result.weights, observer);
        CHECK(!records.empty());
        CHECK(records.back().gap == result.outcome.certificate.gap());
    });
}

TEST(single_first, a_stop_is_heard_in_single_precision) {
    for_some_machines(Data(listed), [](const auto& problem) {
        LinearOptions options = loose();
        options.goal.tol = 5e-4;
        int checks = 0;
        const Observer observer{.on_check = [&](const Record&) { return ++checks >= 1; },
                                .interrupted = nullptr};
        const auto result = fit(problem, options, observer);
        CHECK(result.outcome.certificate.dual > 0);
        CHECK(result.outcome.certificate.primal >= result.outcome.certificate.dual);
        CHECK(feasible(problem, result.duals));
        CHECK_CLOSE(primal_of(problem, result.weights.packed()), result.outcome.certificate.primal,
                    1e-9);
        CHECK(checks <= 3);
    });
}

TEST(single_first, starts_from_dual_variables) {
    for_some_machines(Data(listed), [](const auto& problem) {
        auto result = fit(problem, loose());
        result.weights = problem.template weights<Store<double>>();
        result.outcome = train(problem, loose(), result.duals, result.weights, {});
        check_optimal(problem, result, 1e-3);
    });
}

}  // namespace
}  // namespace polymargin::testing
