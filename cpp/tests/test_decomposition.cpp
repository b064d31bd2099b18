// Solvers of kernel machines that move a few variables at a time, without Python: they agree with
// each other for every machine, whatever the cache, the shrinking and the precision.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel_data.hpp"
#include "polymargin/kernel/crammer_singer.hpp"
#include "polymargin/kernel/sequential.hpp"
#include "polymargin/machines/registry.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

struct Reached {
    DecompositionOutcome outcome;
    double recomputed;  // dual objective from scores computed anew
};

template <class T, class MakeSolver>
Reached solve(const KernelData<T>& data, const Machine& machine, std::size_t cached, double tol,
              MakeSolver&& make, std::int64_t max_iter = 10000) {
    const KernelProblem<T> problem = data.problem(machine);
    RowCache<T> rows = data.rows(cached);
    ScoredDuals<T> state(problem, Duals<T>(data.n, data.k));
    auto solver = make(state, rows);
    const auto outcome = decompose({tol, max_iter, Stopping::gap}, state, solver, {});
    ScoredDuals<T> again(problem, state.duals());
    std::vector<std::uint32_t> all(data.n);
    std::iota(all.begin(), all.end(), 0u);
    again.recompute(all, rows);
    return {outcome, again.check().dual};
}

template <class T>
auto sequential(bool two, bool shrinking) {
    return [=](ScoredDuals<T>& state, RowCache<T>& rows) {
        return Sequential<T>(state, rows, two, shrinking);
    };
}

template <class T>
void check_machines(double tol) {
    const KernelData<T> data;
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const double optimum =
            solve(data, machine, data.n, tol, sequential<T>(true, false)).outcome.certificate.dual;
        const auto agrees = [&](const Reached& reached) {
            CHECK(reached.outcome.converged);
            CHECK_CLOSE(reached.outcome.certificate.dual, optimum, 2 * tol);
            CHECK_CLOSE(reached.outcome.certificate.dual, reached.recomputed, tol);
        };
        for (const std::size_t cached : {std::size_t{0}, std::size_t{7}, data.n}) {
            for (const bool two : {false, true}) {
                agrees(solve(data, machine, cached, tol, sequential<T>(two, true)));
            }
            if (!CrammerSinger<T>::defined_for(machine)) continue;
            for (const auto choice :
                 {ExampleChoice::kkt, ExampleChoice::cyclic, ExampleChoice::random}) {
                agrees(solve(data, machine, cached, tol,
                             [&](ScoredDuals<T>& state, RowCache<T>& rows) {
                                 return CrammerSinger<T>(state, rows, {.choice = choice});
                             }));
            }
        }
    }
}

TEST(decomposition, solvers_agree_in_double) { check_machines<double>(1e-6); }

TEST(decomposition, solvers_agree_in_single) { check_machines<float>(1e-4); }

TEST(decomposition, budget_is_honoured) {
    const KernelData<double> data;
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto reached = solve(data, machine, 2, 1e-15, sequential<double>(true, true), 2);
        CHECK(reached.outcome.steps <= std::int64_t(2 * data.n));
        CHECK_CLOSE(reached.outcome.certificate.dual, reached.recomputed, 1e-12);
    }
}

TEST(decomposition, interrupt_leaves_scores_in_order) {
    const KernelData<double> data;
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto problem = data.problem(machine);
        RowCache<double> rows = data.rows(3);
        ScoredDuals<double> state(problem, Duals<double>(data.n, data.k));
        Sequential<double> solver(state, rows, true, true);
        int checks = 0;
        const Observer observer{.on_check = [&](const Record&) { return ++checks == 3; },
                                .interrupted = nullptr};
        const auto outcome = decompose({0, 1000, Stopping::gap}, state, solver, observer);
        CHECK(checks <= 3);
        ScoredDuals<double> again(problem, state.duals());
        std::vector<std::uint32_t> all(data.n);
        std::iota(all.begin(), all.end(), 0u);
        again.recompute(all, rows);
        CHECK_CLOSE(again.check().primal, outcome.certificate.primal, 1e-10);
    }
}

TEST(decomposition, cache_gives_up_the_oldest_row) {
    std::vector<std::size_t> asked;
    RowCache<float> rows(10, 3 * 10 * sizeof(float), [&](std::size_t i, float* row) {
        asked.push_back(i);
        std::fill_n(row, 10, float(i));
    });
    CHECK(rows.capacity() == 3);
    for (const std::size_t i : {4, 5, 6, 4, 7, 4, 5}) CHECK(rows.row(i)[9] == float(i));
    CHECK((asked == std::vector<std::size_t>{4, 5, 6, 7, 5}));
    rows.clear();
    rows.row(4);
    CHECK(asked.back() == 4 && rows.computed() == 6);
    CHECK(RowCache<float>(10, 0, nullptr).capacity() == 2);
}

// The objective at the optimum in a box is that of the best of many points.
TEST(decomposition, two_variables_in_a_box) {
    Random random(3);
    const auto draw = [&] { return double(random.below(2001)) / 500 - 2; };
    for (int trial = 0; trial < 2000; ++trial) {
        const int rank = trial % 3;
        const double a = draw(), b = draw(), ridge = rank == 2 ? 0.1 + std::abs(draw()) : 0;
        const double scale = rank > 0;
        const TwoVariables problem{{draw(), draw()},
                                   scale * a * a + ridge,
                                   scale * a * b,
                                   scale * b * b + ridge};
        const TwoVariables::Pair lower{-std::abs(draw()), -std::abs(draw())},
            upper{std::abs(draw()), std::abs(draw())};
        const auto mu = solve_two_variables(problem, lower, upper);
        const double value = problem.value(mu);
        for (int v = 0; v < 2; ++v) CHECK(mu[v] >= lower[v] && mu[v] <= upper[v]);
        constexpr int grid = 20;
        for (int i = 0; i <= grid; ++i) {
            for (int j = 0; j <= grid; ++j) {
                const TwoVariables::Pair point{lower[0] + (upper[0] - lower[0]) * i / grid,
                                               lower[1] + (upper[1] - lower[1]) * j / grid};
                CHECK_AT_MOST(problem.value(point), value + 1e-9);
            }
        }
        CHECK(two_variable_gain(problem) >= value - 1e-9);
    }
}

}  // namespace
}  // namespace polymargin::testing
