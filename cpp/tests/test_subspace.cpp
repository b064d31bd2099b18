// Steps of second order: their parts against plain formulas, and fits that need them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "polymargin/cholesky.hpp"
#include "polymargin/fit/pace.hpp"
#include "polymargin/linear/curvature.hpp"
#include "polymargin/linear/preconditioner.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// One variable in so many, with any change. In a simplex the sum is at its bound for every other
// example, and changes of what moves sum to 0 there.
template <class Rows>
FreeVariables<Rows> some_free(const LinearProblem<Rows>& problem, std::uint64_t seed,
                              std::uint64_t one_in = 2) {
    using T = typename Rows::value_type;
    Random random(seed);
    FreeVariables<Rows> free(problem);
    for (std::uint32_t i = 0; i < problem.size(); ++i) {
        free.add(i, [&](auto&& body) {
            for (std::int32_t c = 0; c < problem.k; ++c) {
                const bool own = c == problem.labels[i];
                if (!problem.machine.has_variable(own) || random.below(one_in) + 1 < one_in) {
                    continue;
                }
                body(c, T(0.5 * problem.upper[i]), T(1));
            }
            return problem.machine.simplex() && i % 2 == 0;
        });
    }
    for (const FreeExample& example : free.examples()) {
        T sum = 0;
        for (auto& v : free.of(example)) {
            v.direction = T(random.below(1000)) / 500 - 1;
            sum += v.direction;
        }
        if (!example.tied) continue;
        for (auto& v : free.of(example)) v.direction -= sum / T(example.moving);
    }
    return free;
}

// H p through V, all of it, in double.
template <class Rows>
std::vector<double> curved(const LinearProblem<Rows>& problem, FreeVariables<Rows>& free) {
    using T = typename Rows::value_type;
    const auto k = static_cast<std::size_t>(problem.k);
    const std::size_t d = problem.features();
    std::vector<double> V(d * k), result;
    std::vector<T> scratch(problem.rows.scratch_size());
    for (const FreeExample& example : free.examples()) {
        std::vector<T> alpha(k);
        free.add_alphas(example, &FreeVariable<T>::direction, alpha);
        const auto row = problem.rows.row(example.i, scratch.data());
        for (std::size_t c = 0; c < k; ++c) {
            for (std::size_t p = 0; p < row.size(); ++p) {
                V[row.index(p) * k + c] += double(row.value(p)) * double(alpha[c]);
            }
            if (problem.bias) V[(d - 1) * k + c] += double(alpha[c]);
        }
    }
    for (const FreeExample& example : free.examples()) {
        const std::vector<double> f = scores_of(problem, V, example.i);
        double mean = 0;
        if (problem.machine.zero_sum) {
            for (const double score : f) mean += score / static_cast<double>(k);
        }
        for (const auto& v : free.of(example)) {
            const double base = problem.machine.relative ? f[example.y] : mean;
            result.push_back(v.c == example.y ? f[example.y] - mean : base - f[v.c]);
        }
    }
    return result;
}

template <class Rows>
using CurvatureOf = std::conditional_t<Rows::is_sparse, ColumnCurvature<Rows>, RowCurvature<Rows>>;

TEST(subspace, product_with_the_second_derivative) {
    for (const int k : {5, 80}) {
        for (const bool bias : {false, true}) {
            const Shape shape{.n = 40, .k = k, .bias = bias};
            const Data data(shape);
            for (const Machine& machine : registered_machines) {
                for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                    using T = typename Rows::value_type;
                    context() = describe(machine, shape, Rows::is_sparse);
                    const auto problem = data.problem(rows, machine);
                    CurvatureOf<Rows> curvature(problem, 2);
                    for (const int one_in : {2, 12}) {
                        auto free = some_free(problem, 3, one_in);
                        const std::vector<double> expected = curved(problem, free);
                        curvature.begin(free);
                        curvature.multiply(free, &FreeVariable<T>::direction);
                        for (std::size_t at = 0; at < expected.size(); ++at) {
                            const double scale = std::is_same_v<T, double> ? 1e-12 : 1e-5;
                            CHECK(std::abs(free.all()[at].curved - expected[at]) <= scale * 100);
                        }
                        // Of many classes with few free variables only those are looked at.
                        if (!machine.has_others || k < 80) continue;
                        CHECK(curvature.visits() == (Rows::is_sparse && one_in == 12 ? 0.25 : 1));
                    }
                });
            }
        }
    }
}

// Rows that share nothing but the constant feature: the preconditioner is the derivative itself.
TEST(subspace, preconditioner_is_exact_where_rows_are_orthogonal) {
    constexpr int n = 30, k = 12;
    std::vector<double> values, norms, upper(n, 1.0);
    std::vector<std::int32_t> indices, offsets{0}, labels;
    for (int i = 0; i < n; ++i) {
        values.push_back(1 + 0.1 * i);
        norms.push_back(values.back() * values.back());
        indices.push_back(i);
        offsets.push_back(i + 1);
        labels.push_back(i % k);
    }
    const Sparse rows{values.data(), indices.data(), offsets.data(), n, n};
    for (const bool bias : {false, true}) {
        const std::vector<double> with_bias = [&] {
            std::vector<double> all = norms;
            for (double& norm : all) norm += bias;
            return all;
        }();
        for (const Machine& machine : registered_machines) {
            context() = machine.name;
            const LinearProblem<Sparse> problem{rows, norms, labels, upper, k, machine, bias};
            auto free = some_free(problem, 5);
            const std::vector<double> right = curved(problem, free);
            for (std::size_t at = 0; at < right.size(); ++at) free.all()[at].residual = right[at];
            Preconditioner<Sparse> preconditioner(problem, with_bias);
            preconditioner.factorise(free);
            // Directions of a full simplex know their residual up to its mean.
            for (const FreeExample& example : free.examples()) {
                double mean = 0;
                for (const auto& v : free.of(example)) mean += v.residual / example.moving;
                for (auto& v : free.of(example)) v.residual -= example.tied ? mean : 0;
            }
            preconditioner.solve(free);
            // Absolute machines with a full simplex and an own variable have a D of their own.
            if (machine.simplex() && !machine.relative) continue;
            for (const auto& v : free.all()) CHECK(std::abs(v.step - v.direction) <= 1e-9);
        }
    }
}

TEST(subspace, cholesky_solves) {
    const std::vector<double> matrix{4, 2, 0.6, 2, 5, 1, 0.6, 1, 3};
    std::vector<double> x{1, -2, 0.5}, b(3);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) b[i] += matrix[i * 3 + j] * x[j];
    }
    Cholesky(matrix, 3).solve(b);
    for (int i = 0; i < 3; ++i) CHECK_CLOSE(b[i], x[i], 1e-12);
}

TEST(subspace, pace_of_a_gap_that_halves_each_pass) {
    Pace pace;
    CHECK(pace.passes_to(1.0) == 0);
    for (int pass = 0; pass <= 10; ++pass) pace.see(pass, std::pow(0.5, pass));
    CHECK_CLOSE(pace.passes_to(std::pow(0.5, 17)), 7.0, 1e-9);
    CHECK(pace.way() == 10);
    pace.see(11, 1.0);
    CHECK(std::isinf(pace.passes_to(0.1)));
    pace.restart();
    CHECK(pace.way() == 0);
}

// Examples that contradict each other: their variables go to C, which descent alone reaches in
// steps of about 1.
TEST(subspace, contradictions_at_large_C) {
    Shape shape{.n = 60, .d = 200, .k = 4, .C = 1e4, .seed = 7, .density = 0.1};
    Data data(shape);
    for (std::size_t i = 0; i < 4; ++i) data.labels[i] = (data.labels[i] + 1) % shape.k;
    const Sparse rows = data.rows<Sparse>();
    for (const char* name : {"ww", "cs"}) {
        context() = name;
        const Machine& machine = *find_machine(name);
        const auto problem = data.problem(rows, machine);
        LinearOptions options;
        options.goal = {.tol = 1e-3, .max_iter = 1000};
        const auto result = fit(problem, options);
        CHECK(result.outcome.converged);
        CHECK_CLOSE(primal_of(problem, result.weights.packed()), result.outcome.certificate.primal,
                    1e-10);
        CHECK_CLOSE(dual_of(problem, result.duals), result.outcome.certificate.dual, 1e-9);
    }
}

// A step as far as few variables leave their bounds, which are then fixed there, and back.
TEST(subspace, variables_that_leave_their_bounds) {
    const Data data(Shape{.n = 20, .k = 5});
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, *find_machine("ww"));
    auto free = some_free(problem, 3);
    for (auto& v : free.all()) v.direction = 0;
    free.all()[0].direction = -1;
    free.all()[1].direction = 1;
    const double C = problem.upper[0];
    CHECK(free.leaving(0.4 * C) == 0);
    CHECK(free.leaving(0.6 * C) == 2);
    for (auto& v : free.all()) v.total = 0.6 * C * v.direction;
    CHECK(free.fix() == 2);
    CHECK(free.all()[0].total == -free.all()[0].beta);
    CHECK(free.leaving(C) == 0);
    free.reset();
    for (const auto& v : free.all()) CHECK(!v.fixed && v.total == 0 && v.residual == v.gradient);
    for (const auto& e : free.examples()) CHECK(e.moving == int(e.last - e.first));
}

// In a simplex the sum has a bound, too.
TEST(subspace, sums_that_leave_their_bounds) {
    const Data data(Shape{.n = 20, .k = 5});
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, *find_machine("cs"));
    const double C = problem.upper[0];
    FreeVariables<Sparse> free(problem);
    free.add(0, [&](auto&& body) {
        for (std::int32_t c = 0; c < problem.k; ++c) {
            if (c != problem.labels[0]) body(c, 0.1 * C, 1.0);
        }
        return false;
    });
    for (auto& v : free.all()) v.direction = 1;
    CHECK(free.leaving(0.1 * C) == 0);
    CHECK(free.leaving(0.2 * C) == 1);
    for (auto& v : free.all()) v.total = 0.2 * C;
    CHECK(free.fix() == 1);
    CHECK(free.examples()[0].tied);
    for (const auto& v : free.all()) CHECK_CLOSE(v.beta + v.total, 0.25 * C, 1e-12);
    free.reset();
    CHECK(!free.examples()[0].tied);
}

// Random labels of short rows with a bias: without care, clipping makes the steps useless.
TEST(subspace, many_contradictions) {
    const Shape shape{
        .n = 1000, .d = 1000, .k = 5, .C = 30, .bias = true, .seed = 3, .density = 0.003};
    Data data(shape);
    Random random(5);
    for (auto& label : data.labels) label = static_cast<std::int32_t>(random.below(shape.k));
    const Sparse rows = data.rows<Sparse>();
    for (const char* name : {"ww", "cs"}) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        LinearOptions options;
        options.goal = {.tol = 1e-3, .max_iter = 600};
        const auto result = fit(problem, options);
        CHECK(result.outcome.converged);
    }
}

// What a slow fit ends with is no worse than the weights of its dual variables, and certified.
TEST(subspace, the_best_weights_are_certified) {
    const Shape shape{.n = 200, .d = 5, .k = 4, .C = 1e3};
    const Data data(shape);
    for (const Machine& machine : registered_machines) {
        for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
            context() = describe(machine, shape, Rows::is_sparse);
            const auto problem = data.problem(rows, machine);
            LinearOptions options;
            options.goal = {.tol = 1e-9, .max_iter = 60};
            options.second_order = false;
            const auto result = fit(problem, options);
            const Certificate& certificate = result.outcome.certificate;
            CHECK_CLOSE(primal_of(problem, result.weights.packed()), certificate.primal, 1e-6);
            auto plain = result.weights.copy();
            plain.rebuild(problem, result.duals, 1);
            CHECK(certificate.primal <= primal_of(problem, plain.packed()) * (1 + 1e-9));
        });
    }
}

}  // namespace
}  // namespace polymargin::testing
