// Steps of second order: their parts against plain formulas, and fits that need them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "polymargin/cholesky.hpp"
#include "polymargin/fit/pace.hpp"
#include "polymargin/linear/curvature.hpp"
#include "polymargin/linear/preconditioner.hpp"
#include "polymargin/linear/primal_repair.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// One variable in so many, with any change. In a simplex the sum is at its bound for every other
// example, and changes of what moves sum to 0 there.
template <class Rows>
struct SomeFree {
    using T = typename Rows::value_type;
    FreeVariables<Rows> variables;
    std::vector<T> direction;
};

template <class Rows>
SomeFree<Rows> some_free(const LinearProblem<Rows>& problem, std::uint64_t seed,
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
    free.arrange();
    std::vector<T> direction(free.size());
    for (const FreeExample& example : free.examples()) {
        T sum = 0;
        for (const std::uint32_t v : example.variables()) {
            direction[v] = T(random.below(1000)) / 500 - 1;
            sum += direction[v];
        }
        if (!example.tied) continue;
        for (const std::uint32_t v : example.variables()) direction[v] -= sum / T(example.moving);
    }
    return {free, direction};
}

// H p through V, all of it, in double.
template <class Rows>
std::vector<double> curved(const LinearProblem<Rows>& problem, const SomeFree<Rows>& some) {
    using T = typename Rows::value_type;
    const FreeVariables<Rows>& free = some.variables;
    const auto k = static_cast<std::size_t>(problem.k);
    const std::size_t d = problem.features();
    std::vector<double> V(d * k), result;
    std::vector<T> scratch(problem.rows.scratch_size());
    for (const FreeExample& example : free.examples()) {
        std::vector<T> alpha(k);
        free.add_alphas(example, some.direction, alpha);
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
        for (const std::uint32_t v : example.variables()) {
            const std::int32_t c = free.classes[v];
            const double base = problem.machine.relative ? f[example.y] : mean;
            result.push_back(c == example.y ? f[example.y] - mean : base - f[c]);
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
                        const auto some = some_free(problem, 3, one_in);
                        const auto& [free, direction] = some;
                        const std::vector<double> expected = curved(problem, some);
                        std::vector<T> product(free.size());
                        curvature.begin(free);
                        curvature.multiply(free, direction, product);
                        for (std::size_t at = 0; at < expected.size(); ++at) {
                            const double scale = std::is_same_v<T, double> ? 1e-12 : 1e-5;
                            CHECK(std::abs(product[at] - expected[at]) <= scale * 100);
                        }
                        // Of many classes with few free variables only those are looked at.
                        if (!machine.has_others || k < 80) continue;
                        const double read =
                            static_cast<double>(free.size() + free.examples().size());
                        const double all = static_cast<double>(free.examples().size()) * k;
                        CHECK_CLOSE(curvature.visits(),
                                    Rows::is_sparse && one_in == 12 ? read / all : 1.0, 1e-12);
                    }
                });
            }
        }
    }
}

// The step from H p is p again where the preconditioner is H itself.
void check_exact(const LinearProblem<Sparse>& problem, std::span<const double> norms) {
    auto some = some_free(problem, 5, 3);
    auto& [free, direction] = some;
    free.residual = curved(problem, some);
    // Directions of a full simplex know their residual up to its mean.
    for (const FreeExample& example : free.examples()) {
        double mean = 0;
        for (const std::uint32_t v : example.variables()) mean += free.residual[v];
        mean /= example.moving;
        for (const std::uint32_t v : example.variables()) {
            free.residual[v] -= example.tied ? mean : 0;
        }
    }
    Preconditioner<Sparse> preconditioner(problem, norms);
    preconditioner.begin(free);
    std::vector<double> step(free.size());
    preconditioner.solve(free, step);
    // Absolute machines with a full simplex and an own variable have a D of their own.
    if (problem.machine.simplex() && !problem.machine.relative) return;
    for (std::size_t v = 0; v < step.size(); ++v) CHECK(std::abs(step[v] - direction[v]) <= 1e-8);
}

// Rows that share nothing but the constant feature and two heavy ones.
TEST(subspace, preconditioner_is_exact_where_rows_share_heavy_features_alone) {
    constexpr int n = 240, k = 12;
    for (const int shared : {0, 2}) {
        std::vector<double> values, norms, upper(n, 1.0);
        std::vector<std::int32_t> indices, offsets{0}, labels;
        for (int i = 0; i < n; ++i) {
            double norm = 0;
            const auto add = [&](int feature, double value) {
                indices.push_back(feature);
                values.push_back(value);
                norm += value * value;
            };
            add(i, 1 + 0.01 * i);
            for (int j = 0; j < shared; ++j) add(n + j, 1 + 0.1 * ((i + j) % 7));
            norms.push_back(norm);
            offsets.push_back(static_cast<std::int32_t>(indices.size()));
            labels.push_back(i % k);
        }
        const Sparse rows{values.data(), indices.data(), offsets.data(), n, n + 2};
        for (const bool bias : {false, true}) {
            std::vector<double> with_bias = norms;
            for (double& norm : with_bias) norm += bias;
            for (const Machine& machine : registered_machines) {
                context() = machine.name;
                check_exact({rows, norms, labels, upper, k, machine, bias}, with_bias);
            }
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
    FreeVariables<Sparse> free = some_free(problem, 3).variables;
    std::vector<double> direction(free.size());
    direction[0] = -1;
    direction[1] = 1;
    const double C = problem.upper[0];
    CHECK(free.leaving(0.4 * C, direction) == 0);
    CHECK(free.leaving(0.6 * C, direction) == 2);
    for (std::size_t v = 0; v < free.size(); ++v) free.total[v] = 0.6 * C * direction[v];
    CHECK(free.fix() == 2);
    CHECK(free.total[0] == -free.beta[0]);
    CHECK(free.leaving(C, direction) == 0);
    // One at zero may rise again where its residual says so, one at C may fall.
    free.residual[0] = free.residual[1] = -1;
    free.release();
    CHECK(free.fixed[0] && !free.fixed[1]);
    free.residual[0] = 1;
    free.release();
    CHECK(!free.fixed[0]);
    free.reset();
    for (std::size_t v = 0; v < free.size(); ++v) {
        CHECK(!free.fixed[v] && free.total[v] == 0 && free.residual[v] == free.gradient[v]);
    }
    for (const auto& e : free.examples()) CHECK(e.moving == int(e.size()));
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
    free.arrange();
    const std::vector<double> direction(free.size(), 1.0);
    CHECK(free.leaving(0.1 * C, direction) == 0);
    CHECK(free.leaving(0.2 * C, direction) == 1);
    free.total.assign(free.size(), 0.2 * C);
    CHECK(free.fix() == 1);
    CHECK(free.examples()[0].tied);
    for (std::size_t v = 0; v < free.size(); ++v) {
        CHECK_CLOSE(free.beta[v] + free.total[v], 0.25 * C, 1e-12);
    }
    free.residual.assign(free.size(), 1.0);
    free.release();
    CHECK(free.examples()[0].tied);
    free.residual.assign(free.size(), -1.0);
    free.release();
    CHECK(!free.examples()[0].tied);
}

// The nearest point of a box or of a simplex: the clipped values less one number, which is zero
// where the sum is below its bound.
TEST(subspace, the_nearest_change_inside_the_bounds) {
    const Data data(Shape{.n = 60, .k = 6});
    const Sparse rows = data.rows<Sparse>();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const auto problem = data.problem(rows, machine);
        auto some = some_free(problem, 4);
        FreeVariables<Sparse>& free = some.variables;
        for (std::size_t v = 0; v < free.size(); ++v) free.total[v] = 3 * some.direction[v];
        const auto reached = free.total;
        free.clip();
        for (const FreeExample& example : free.examples()) {
            const double C = problem.upper[example.i];
            double sum = 0, lowered = 0;
            for (const std::uint32_t v : example.variables()) {
                const double value = free.beta[v] + free.total[v];
                sum += value;
                CHECK(value >= -1e-12);
                if (machine.simplex() && value > 1e-9) {
                    lowered = std::min(free.beta[v] + reached[v], C) - value;
                }
            }
            if (machine.simplex()) CHECK(sum <= C * (1 + 1e-12));
            CHECK(lowered >= -1e-12);
            if (sum < C * (1 - 1e-9)) CHECK(std::abs(lowered) <= 1e-12);
            for (const std::uint32_t v : example.variables()) {
                const double upper = machine.upper(free.classes[v] == example.y, C);
                const double inside = std::clamp(free.beta[v] + reached[v], 0.0, upper);
                const double nearest = std::max(0.0, inside - lowered);
                CHECK(std::abs(free.beta[v] + free.total[v] - nearest) <= 1e-12 * C);
            }
        }
    }
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
        options.goal = {.tol = 1e-3, .max_iter = 3000};
        const auto result = fit(problem, options);
        CHECK(result.outcome.converged);
        for (const int passes : {60, 100, 160}) {
            options.goal.max_iter = passes;
            CHECK(fit(problem, options).outcome.n_iter <= passes);
        }
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

// Nearly optimal dual variables: weights beside theirs are a better primal point, by the objectives
// that a certificate would say, and within a budget.
TEST(subspace, repaired_weights) {
    const Shape shape{
        .n = 400, .d = 600, .k = 5, .C = 30, .bias = true, .seed = 3, .density = 0.006};
    Data data(shape);
    Random random(5);
    for (auto& label : data.labels) label = static_cast<std::int32_t>(random.below(shape.k));
    const Sparse rows = data.rows<Sparse>();
    for (const Machine& machine : registered_machines) {
        context() = describe(machine, shape, true);
        const auto problem = data.problem(rows, machine);
        LinearOptions options;
        options.goal = {.tol = 2e-3, .max_iter = 3000};
        auto start = fit(problem, options);
        auto plain = start.weights.copy();
        plain.rebuild(problem, start.duals, 1);
        const double before = primal_of(problem, plain.packed());
        const double tol = (before - start.outcome.certificate.dual) / (20 * before);
        const auto norms = working_norms(problem);
        PrimalRepair<Sparse, decltype(plain)> repair(problem, norms, start.duals, 1);
        const auto never = [] { return false; };
        for (const double passes : {6.0, 1e6}) {
            const double budget = passes * static_cast<double>(problem.size());
            const auto found = repair.run(plain, tol, 20, budget, never);
            CHECK(found.visits <= budget);
            CHECK_CLOSE(found.dual, start.outcome.certificate.dual, 1e-9);
            CHECK_CLOSE(found.primal, primal_of(problem, found.weights.packed()), 1e-9);
            CHECK(found.primal <= before * (1 + 1e-12));
            if (passes > 6 && machine.relative) {
                CHECK(found.primal - found.dual <= 0.5 * (before - found.dual));
            }
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
