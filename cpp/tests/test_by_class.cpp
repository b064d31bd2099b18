// Machines whose classes share nothing, trained one class after the other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "polymargin/linear/by_class/block.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

LinearOptions by_class(double tol) {
    LinearOptions options = tight();
    options.goal.tol = tol;
    options.searched_from = 0;
    return options;
}

LinearOptions together(double tol) {
    LinearOptions options = by_class(tol);
    options.searched_from = std::numeric_limits<double>::infinity();
    return options;
}

template <class T>
bool same(const Duals<T>& a, const Duals<T>& b) {
    std::vector<std::pair<std::int32_t, T>> left, right;
    for (std::size_t i = 0; i < a.size(); ++i) {
        a.for_each(i, [&](std::int32_t c, T beta) { left.push_back({c, beta}); });
        b.for_each(i, [&](std::int32_t c, T beta) { right.push_back({c, beta}); });
    }
    return left == right;
}

TEST(by_class, reaches_the_optimum_of_all_classes_together) {
    for (const int k : {40, 150}) {
        for (const double C : {0.05, 1.0}) {
            for (const bool bias : {true, false}) {
                const Shape shape{.n = 300,
                                  .d = 60,
                                  .k = k,
                                  .C = C,
                                  .bias = bias,
                                  .zero_rows = 2,
                                  .density = 0.2};
                const Data data(shape);
                for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                    context() = describe(machines::ovr, shape, Rows::is_sparse);
                    const auto problem = data.problem(rows, machines::ovr);
                    const double tol = 1e-4;
                    const auto found = fit(problem, by_class(tol));
                    check_optimal(problem, found, tol);
                    if constexpr (Rows::is_sparse) {
                        const auto other = fit(problem, together(tol));
                        CHECK_CLOSE(found.outcome.certificate.primal,
                                    other.outcome.certificate.primal, 2 * tol);
                    }
                });
            }
        }
    }
}

// By its description alone: no variables of own classes, half a weight for the others; and the
// other way round.
TEST(by_class, takes_any_machine_whose_classes_share_nothing) {
    const Shape shape{.n = 200, .d = 40, .k = 50, .C = 0.3, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    Machine others = machines::ovr;
    others.has_own = false;
    others.weight_other = 0.5;
    Machine own = machines::ovr;
    own.has_others = false;
    own.margin_own_per_class = 0.1;
    for (const Machine& machine : {others, own}) {
        context() = machine.has_own ? "own" : "others";
        const auto problem = data.problem(rows, machine);
        const auto found = fit(problem, by_class(1e-7));
        check_optimal(problem, found, 1e-7);
        CHECK_CLOSE(found.outcome.certificate.primal,
                    fit(problem, together(1e-7)).outcome.certificate.primal, 3e-7);
    }
}

TEST(by_class, does_not_depend_on_the_number_of_threads) {
    for (const bool bias : {true, false}) {
        const Shape shape{.n = 500, .d = 300, .k = 140, .C = 0.5, .bias = bias, .density = 0.03};
        const Data data(shape);
        const Sparse rows = data.rows<Sparse>();
        const auto problem = data.problem(rows, machines::ovr);
        LinearOptions options = by_class(1e-3);
        const auto one = fit(problem, options);
        CHECK(one.outcome.converged);
        for (const int threads : {2, 3, 16}) {
            options.threads = threads;
            const auto found = fit(problem, options);
            CHECK(found.weights.packed() == one.weights.packed());
            CHECK(same(found.duals, one.duals));
            CHECK(found.outcome.n_iter == one.outcome.n_iter);
        }
    }
}

TEST(by_class, bounds_of_rows_count) {
    const Shape shape{.n = 240, .d = 40, .k = 50, .C = 0.2, .density = 0.3};
    Data data(shape);
    for (std::size_t i = 0; i < shape.n; ++i) data.upper[i] *= 1 + static_cast<double>(i % 7);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    const auto found = fit(problem, by_class(1e-6));
    check_optimal(problem, found, 1e-6);
    CHECK_CLOSE(found.outcome.certificate.primal,
                fit(problem, together(1e-6)).outcome.certificate.primal, 3e-6);
}

TEST(by_class, goes_on_from_other_dual_variables) {
    const Shape shape{.n = 200, .d = 30, .k = 60, .C = 0.1, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    auto found = fit(problem, by_class(1e-6));
    const std::int64_t cold = found.outcome.n_iter;
    found.weights = problem.weights<Store<double>>();
    found.outcome = train(problem, by_class(1e-5), found.duals, found.weights, {});
    check_optimal(problem, found, 1e-5);
    CHECK(found.outcome.n_iter <= 1);
    Data changed = data;
    for (double& C : changed.upper) C *= 0.9;
    const auto next = changed.problem(rows, machines::ovr);
    Fit<Sparse> warm(next);
    clip_into(found.duals, next, warm.duals);
    warm.outcome = train(next, by_class(1e-6), warm.duals, warm.weights, Observer{});
    check_optimal(next, warm, 1e-6);
    CHECK(warm.outcome.n_iter <= cold);
}

TEST(by_class, can_be_stopped_at_any_time) {
    const Shape shape{.n = 400, .d = 50, .k = 60, .C = 1, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    for (const int checks : {0, 1, 3}) {
        int seen = 0;
        const Observer observer{.on_check = [&](const Record&) { return ++seen > checks; },
                                .interrupted = {}};
        const auto found = fit(problem, by_class(1e-12), observer);
        CHECK(!found.outcome.converged);
        CHECK(feasible(problem, found.duals));
        CHECK(found.outcome.certificate.primal >= found.outcome.certificate.dual);
        CHECK_CLOSE(primal_of(problem, found.weights.packed()), found.outcome.certificate.primal,
                    1e-9);
        CHECK_CLOSE(dual_of(problem, found.duals), found.outcome.certificate.dual, 1e-9);
    }
}

// The watch asks after a tenth of a second.
TEST(by_class, an_interrupt_ends_a_pass) {
    const Shape shape{.n = 6000, .d = 400, .k = 300, .C = 10, .bias = false, .density = 0.1};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    for (const int threads : {1, 2}) {
        LinearOptions options = by_class(1e-14);
        options.threads = threads;
        int asked = 0, checks = 0;
        const Observer observer{.on_check = [&](const Record&) { return ++checks < 0; },
                                .interrupted = [&] { return ++asked > 0; }};
        const auto found = fit(problem, options, observer);
        CHECK(asked == 1);
        CHECK(checks == 1);  // the certificate
        CHECK(!found.outcome.converged);
        CHECK(feasible(problem, found.duals));
    }
}

TEST(by_class, keeps_to_the_number_of_passes) {
    const Shape shape{.n = 300, .d = 40, .k = 70, .C = 5, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    for (const int passes : {0, 1, 2, 5}) {
        LinearOptions options = by_class(1e-12);
        options.goal.max_iter = passes;
        const auto found = fit(problem, options);
        CHECK(found.outcome.n_iter == passes);
        CHECK(!found.outcome.converged);
        CHECK((found.duals.nonzeros() == 0) == (passes == 0));
    }
}

TEST(by_class, ends_where_no_condition_is_violated) {
    const Shape shape{.n = 200, .d = 40, .k = 50, .C = 0.5, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    LinearOptions options = by_class(1e-3);
    options.goal.stopping = Stopping::kkt;
    const auto found = fit(problem, options);
    CHECK(found.outcome.converged);
    CHECK_AT_MOST(found.outcome.certificate.violation, 1e-3);
}

TEST(by_class, refuses_what_memory_cannot_hold) {
    const Shape shape{.n = 300, .d = 50, .k = 100, .C = 1e-4, .bias = false, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ovr);
    LinearOptions options = by_class(1e-6);
    options.memory = 1e5;
    double bytes = 0;
    try {
        fit(problem, options);
    } catch (const TooDense& error) {
        bytes = error.bytes;
    }
    // All dual variables are at their bounds.
    CHECK(bytes > double(shape.n) * shape.k * sizeof(DualEntry<double>));
    options.memory = 1e7;
    check_optimal(problem, fit(problem, options), 1e-6);
}

TEST(by_class, scores_of_a_block_are_those_of_its_classes) {
    const Shape shape{.n = 30, .d = 40, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    ClassBlock<double> block(shape.d);
    Random random(1);
    for (int round = 0; round < 2; ++round) {
        block.clear();
        for (const int lane : {0, 31}) {
            std::vector<double> w(shape.d + 1);
            for (std::size_t i = lane > 0; i < shape.n; i += 7) {
                const auto row = rows.row(i, nullptr);
                for (std::size_t p = 0; p < row.size(); ++p)
                    w[row.index(p)] = random.below(9) - 4.0;
            }
            w.back() = 2;
            for (std::size_t i = lane > 0; i < shape.n; i += 7) {
                block.set(rows.row(i, nullptr), lane, w);
            }
            std::vector<double> f(ClassBlock<double>::lanes);
            for (std::size_t i = 0; i < shape.n; ++i) {
                const auto row = rows.row(i, nullptr);
                double expected = w.back();
                for (std::size_t p = 0; p < row.size(); ++p) {
                    expected += row.value(p) * w[row.index(p)];
                }
                block.scores(row, f.data());
                CHECK(std::abs(f[lane] - expected) < 1e-9);
                CHECK(f[5] == 0);
            }
            const auto is_zero = std::count(w.begin(), w.end() - 1, 0.0);
            CHECK(block.nonzeros(lane) == shape.d - static_cast<std::size_t>(is_zero));
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
