// Every registered machine reaches its optimum, whatever the shape of the problem.
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// Single precision is given `single`, as its rounding errors can be larger than 1e-6.
void reaches_the_optimum(const Shape& shape, double single = 1e-6) {
    const Data data(shape);
    for (const Machine& machine : registered_machines) {
        for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
            context() = describe(machine, shape, Rows::is_sparse);
            const auto problem = data.problem(rows, machine);
            LinearOptions options = tight();
            if (!Rows::is_sparse) options.goal.tol = single;
            check_optimal(problem, fit(problem, options), options.goal.tol);
        });
    }
}

TEST(machines, names_are_found) {
    for (const Machine& machine : registered_machines) {
        CHECK(find_machine(machine.name)->name == machine.name);
        for (const auto alias : machine.aliases) CHECK(find_machine(alias)->name == machine.name);
    }
    CHECK(find_machine("no such machine") == nullptr);
}

TEST(machines, reach_the_optimum) { reaches_the_optimum({}); }

TEST(machines, reach_the_optimum_without_bias) { reaches_the_optimum({.bias = false}); }

TEST(machines, reach_the_optimum_with_two_classes) { reaches_the_optimum({.k = 2}); }

TEST(machines, reach_the_optimum_with_rows_of_zeros) {
    reaches_the_optimum({.bias = false, .zero_rows = 7});
    reaches_the_optimum({.bias = true, .zero_rows = 7});
}

// Nothing but zeros: the loss of the zero function, and a gap of exactly nothing.
TEST(machines, reach_the_optimum_when_all_rows_are_zero) {
    reaches_the_optimum({.n = 6, .k = 3, .bias = false, .zero_rows = 6});
}

TEST(machines, reach_the_optimum_on_one_example) { reaches_the_optimum({.n = 1, .k = 3}); }

// Above 32 classes the dual variables of a row are a list, or in full where a list is longer.
TEST(machines, reach_the_optimum_with_many_classes) {
    for (const double C : {0.01, 0.1}) {
        reaches_the_optimum({.n = 60, .d = 10, .k = 40, .C = C}, 1e-5);
    }
    reaches_the_optimum({.n = 40, .d = 8, .k = 33}, 1e-5);
}

TEST(machines, precisions_agree) {
    const Shape shape;
    const Data data(shape);
    const Dense dense = data.rows<Dense>();
    const Sparse sparse = data.rows<Sparse>();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto single = fit(data.problem(dense, machine), tight());
        const auto twofold = fit(data.problem(sparse, machine), tight());
        CHECK_CLOSE(single.outcome.certificate.primal, twofold.outcome.certificate.primal, 3e-6);
    }
}

TEST(machines, same_seed_gives_the_same_weights) {
    const Shape shape;
    const Data data(shape);
    const Dense rows = data.rows<Dense>();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto problem = data.problem(rows, machine);
        const auto first = fit(problem, tight()), second = fit(problem, tight());
        CHECK(first.weights.packed() == second.weights.packed());
    }
}

TEST(machines, shrinking_changes_no_optimum) {
    const Shape shape;
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    LinearOptions options = tight();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto problem = data.problem(rows, machine);
        options.shrinking = true;
        const auto with = fit(problem, options);
        options.shrinking = false;
        const auto without = fit(problem, options);
        check_optimal(problem, without, options.goal.tol);
        CHECK_CLOSE(with.outcome.certificate.primal, without.outcome.certificate.primal, 3e-6);
    }
}

TEST(machines, violation_can_be_the_stopping_rule) {
    const Shape shape;
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    LinearOptions options = tight();
    options.goal.stopping = Stopping::kkt;
    options.goal.tol = 1e-3;
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto result = fit(data.problem(rows, machine), options);
        CHECK(result.outcome.converged);
        CHECK(result.outcome.certificate.violation <= options.goal.tol);
    }
}

// Every example with a bound of its own.
TEST(machines, bounds_may_differ) {
    const Shape shape;
    Data data(shape);
    for (std::size_t i = 0; i < shape.n; ++i) data.upper[i] = 0.01 * static_cast<double>(1 + i % 9);
    for (const Machine& machine : registered_machines) {
        for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
            context() = describe(machine, shape, Rows::is_sparse);
            const auto problem = data.problem(rows, machine);
            check_optimal(problem, fit(problem, tight()), 1e-6);
        });
    }
}

}  // namespace
}  // namespace polymargin::testing
