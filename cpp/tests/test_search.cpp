// Very many classes: weights in lists, and sweeps over listed classes between searches of all.
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// The machines whose visits can do without the mean over all classes.
constexpr const char* names[] = {"ww", "cs", "ovr"};

LinearOptions searching(double tol) {
    LinearOptions options = tight();
    options.goal.tol = tol;
    options.searched_from = 0;
    options.shared_from = 0;
    return options;
}

TEST(search, reaches_the_optimum_of_dense_weights) {
    for (const int k : {40, 150}) {
        for (const double C : {0.05, 0.5}) {
            const Shape shape{.n = 80, .d = 60, .k = k, .C = C, .density = 0.2};
            const Data data(shape);
            for (const char* name : names) {
                const Machine& machine = *find_machine(name);
                for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                    context() = describe(machine, shape, Rows::is_sparse);
                    const auto problem = data.problem(rows, machine);
                    const double tol = 1e-4;
                    const auto found = fit(problem, searching(tol));
                    check_optimal(problem, found, tol);
                    LinearOptions plain = searching(tol);
                    plain.searched_from = 1e300;
                    const auto other = fit(problem, plain);
                    CHECK_CLOSE(found.outcome.certificate.primal, other.outcome.certificate.primal,
                                2 * tol);
                });
            }
        }
    }
}

TEST(search, does_not_depend_on_the_number_of_threads) {
    const Shape shape{.n = 1600, .d = 600, .k = 40, .C = 0.1, .bias = false, .density = 0.02};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const char* name : names) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        LinearOptions options = searching(1e-3);
        options.threads = 2;
        const auto two = fit(problem, options);
        CHECK(two.outcome.converged);
        options.threads = 3;
        const auto three = fit(problem, options);
        CHECK(three.weights.packed() == two.weights.packed());
        options.threads = 1;
        CHECK_CLOSE(fit(problem, options).outcome.certificate.primal,
                    two.outcome.certificate.primal, 2e-3);
    }
}

TEST(search, goes_on_from_other_dual_variables) {
    const Shape shape{.n = 200, .d = 30, .k = 60, .C = 0.1, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const char* name : names) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        const LinearOptions options = searching(1e-6);
        auto found = fit(problem, options);
        found.weights = problem.weights<Store<double>>();
        LinearOptions looser = options;
        looser.goal.tol = 1e-5;
        const LinearOutcome again = train(problem, looser, found.duals, found.weights, {});
        CHECK(again.converged);
        CHECK(again.n_iter <= 1);
    }
}

TEST(search, can_be_stopped_at_any_time) {
    const Shape shape{.n = 400, .d = 50, .k = 60, .C = 1, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const int checks : {0, 1, 3}) {
        const auto problem = data.problem(rows, machines::ww);
        int seen = 0;
        const Observer observer{.on_check = [&](const Record&) { return ++seen > checks; },
                                .interrupted = {}};
        const auto found = fit(problem, searching(1e-9), observer);
        CHECK(!found.outcome.converged);
        CHECK(found.outcome.certificate.primal >= found.outcome.certificate.dual);
        CHECK_CLOSE(primal_of(problem, found.weights.packed()), found.outcome.certificate.primal,
                    1e-9);
    }
}

}  // namespace
}  // namespace polymargin::testing
