// Block solvers: alone on random blocks, and inside a fit.
#include <algorithm>
#include <limits>

#include "polymargin/block/example.hpp"
#include "polymargin/block/fixed_point.hpp"
#include "polymargin/block/solver.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// A random block problem at a feasible beta.
struct RandomBlock {
    std::vector<double> gradient, beta;
    double q, C;
    std::int32_t y;

    RandomBlock(const Machine& machine, int k, Random& random) : gradient(k), beta(k) {
        const auto uniform = [&] { return random.below(1u << 20) / double(1u << 20); };
        q = 0.1 + 3 * uniform();
        C = 0.1 + uniform();
        y = static_cast<std::int32_t>(random.below(k));
        double sum = 0;
        for (int c = 0; c < k; ++c) {
            gradient[c] = 4 * uniform() - 2;
            if (c == y ? !machine.has_own : !machine.has_others) continue;
            const double weight = c == y ? machine.weight_own : machine.weight_other;
            const auto kind = random.below(3);  // at 0, inside, at the bound
            beta[c] = kind == 0 ? 0 : kind == 1 ? C * weight * uniform() : C * weight;
            sum += beta[c];
        }
        if (machine.simplex() && sum > C) {
            for (double& value : beta) value *= C / sum;
        }
    }

    // By how much D grows from beta to `to`.
    double gain(const Machine& machine, const std::vector<double>& to) const {
        double linear = 0, square = 0, total = 0;
        for (std::size_t c = 0; c < to.size(); ++c) {
            const double step = to[c] - beta[c];
            linear += gradient[c] * step;
            square += step * step;
            total += std::int32_t(c) == y ? -step : step;
        }
        const double rho = machine.rho(static_cast<int>(to.size()));
        return linear - 0.5 * q * (square + rho * total * total);
    }

    bool feasible(const Machine& machine, const std::vector<double>& to) const {
        double sum = 0;
        for (std::size_t c = 0; c < to.size(); ++c) {
            const bool own = std::int32_t(c) == y;
            const double weight = own ? machine.weight_own : machine.weight_other;
            const bool exists = own ? machine.has_own : machine.has_others;
            const double upper = !exists ? 0 : machine.simplex() ? C : C * weight;
            if (!(to[c] >= 0 && to[c] <= upper * (1 + 1e-9))) return false;
            sum += to[c];
        }
        return !machine.simplex() || sum <= C * (1 + 1e-9);
    }
};

// One of many classes, of which few are positive or would become so.
RandomBlock sparse_block(const Machine& machine, int k, Random& random) {
    RandomBlock block(machine, k, random);
    for (int c = 0; c < k; ++c) {
        if (c == block.y || random.below(20) == 0) continue;
        block.beta[c] = 0;
        block.gradient[c] -= 2;
    }
    return block;
}

// The largest violation of the optimality conditions at `to`, a feasible point of a box.
double violation_in_box(const Machine& machine, const RandomBlock& block,
                        const std::vector<double>& to) {
    const int k = static_cast<int>(to.size());
    const auto sign = [&](int c) { return c == block.y ? -1 : 1; };
    double total = 0, worst = 0;
    for (int c = 0; c < k; ++c) total += sign(c) * (to[c] - block.beta[c]);
    for (int c = 0; c < k; ++c) {
        const bool own = c == block.y;
        if (!machine.has_variable(own)) continue;
        const double g = block.gradient[c] -
                         block.q * (to[c] - block.beta[c] + machine.rho(k) * sign(c) * total);
        if (to[c] < machine.upper(own, block.C)) worst = std::max(worst, g);
        if (to[c] > 0) worst = std::max(worst, -g);
    }
    return worst;
}

std::vector<double> solve(const Machine& machine, const RandomBlock& block, BlockChoice choice) {
    const int k = static_cast<int>(block.beta.size());
    BlockSolver<double> solver(choice, 7);
    ExampleBlock<double> example(machine, k);
    std::vector<double> out(k);
    example.solve(block.gradient.data(), block.beta.data(), block.q, block.C, block.y, solver,
                  out.data());
    return out;
}

TEST(block, boxes_with_few_candidates_are_solved_exactly) {
    Random random(11);
    for (const Machine& machine : registered_machines) {
        if (machine.simplex()) continue;
        for (const int k : {33, 65, 200, 1016}) {
            context() = std::string(machine.name) + " k=" + std::to_string(k);
            for (int round = 0; round < 20; ++round) {
                const RandomBlock block = sparse_block(machine, k, random);
                const auto to = solve(machine, block, {});
                CHECK(block.feasible(machine, to));
                CHECK(violation_in_box(machine, block, to) < 1e-9 * k);
            }
        }
    }
}

bool is_exact(BlockKind kind) {
    using enum BlockKind;
    return kind == newton || kind == sort || kind == pivot || kind == walrus;
}

TEST(block, solvers_improve_and_exact_ones_agree) {
    Random random(3);
    for (const Machine& machine : registered_machines) {
        for (int round = 0; round < 100; ++round) {
            const int k = 2 + static_cast<int>(random.below(round % 10 ? 12 : 80));
            const RandomBlock block(machine, k, random);
            const auto best = solve(machine, block, {});
            const double most = block.gain(machine, best);
            for (const BlockSolverInfo& info : registered_block_solvers) {
                if (!info.defined_for(machine)) continue;
                context() = std::string(machine.name) + ", " + std::string(info.name) +
                            ", k=" + std::to_string(k) + ", round " + std::to_string(round);
                const auto out = solve(machine, block, {info.kind, 1e-6, 0});
                const double gain = block.gain(machine, out);
                CHECK(block.feasible(machine, out));
                CHECK(gain >= -1e-9);
                CHECK(gain <= most + 1e-9);
                if (is_exact(info.kind)) CHECK_CLOSE(gain, most, 1e-9);
            }
        }
    }
}

// A block in which the last classes are all alike, and the same with those as a group.
struct GroupedBlock {
    RandomBlock whole;
    int lanes;
    Group<double> group;

    GroupedBlock(const Machine& machine, int k, int m, Random& random)
        : whole(machine, k, random), lanes(k - m), group{.count = m} {
        whole.y = static_cast<std::int32_t>(random.below(lanes));
        const double first = whole.beta[lanes];
        for (int c = 0; c < k; ++c) {
            if (c >= lanes) whole.beta[c] = first, whole.gradient[c] = whole.gradient[lanes];
            if (!machine.has_variable(c == whole.y)) whole.beta[c] = 0;
        }
        double sum = 0;
        for (const double beta : whole.beta) sum += beta;
        for (double& beta : whole.beta) {
            if (machine.simplex() && sum > whole.C) beta *= whole.C / sum;
            beta = std::min(beta, machine.upper(false, whole.C));
        }
        group.score = whole.gradient[lanes];
        group.beta = whole.beta[lanes];
    }

    std::vector<double> solve(const Machine& machine, BlockChoice choice) const {
        const int k = static_cast<int>(whole.beta.size());
        BlockSolver<double> solver(choice, 7);
        ExampleBlock<double> example(machine, k, lanes);
        example.set_group(group);
        std::vector<double> out(k);
        const double shared = example.solve(whole.gradient.data(), whole.beta.data(), whole.q,
                                            whole.C, whole.y, solver, out.data());
        std::fill(out.begin() + lanes, out.end(), shared);
        return out;
    }
};

TEST(block, a_group_is_as_good_as_its_classes) {
    Random random(5);
    for (const Machine& machine : registered_machines) {
        for (int round = 0; round < 200; ++round) {
            const int m = 1 + static_cast<int>(random.below(9));
            const int k = m + 2 + static_cast<int>(random.below(round % 10 ? 8 : 80));
            const GroupedBlock block(machine, k, m, random);
            const double most = block.whole.gain(machine, solve(machine, block.whole, {}));
            for (const BlockSolverInfo& info : registered_block_solvers) {
                if (!info.defined_for(machine)) continue;
                context() = std::string(machine.name) + ", " + std::string(info.name) +
                            ", k=" + std::to_string(k) + ", round " + std::to_string(round);
                const auto out = block.solve(machine, {info.kind, 1e-6, 0});
                const double gain = block.whole.gain(machine, out);
                CHECK(block.whole.feasible(machine, out));
                CHECK(gain >= -1e-9);
                CHECK(gain <= most + 1e-9);
                if (is_exact(info.kind)) CHECK_CLOSE(gain, most, 1e-9);
            }
        }
    }
}

// From scores, with a mean over all classes where the machine is zero-sum; q = 0 included.
TEST(block, a_group_has_the_gap_and_the_moves_of_its_classes) {
    Random random(6);
    for (const Machine& machine : registered_machines) {
        for (int round = 0; round < 100; ++round) {
            const int m = 1 + static_cast<int>(random.below(9));
            const int k = m + 2 + static_cast<int>(random.below(round % 10 ? 8 : 80));
            const GroupedBlock block(machine, k, m, random);
            const double q = round % 7 ? block.whole.q : 0;
            context() = std::string(machine.name) + ", round " + std::to_string(round);
            ExampleBlock<double> whole(machine, k), grouped(machine, k, k - m);
            grouped.set_group(block.group);
            State states[2];
            double own[2];
            Report reports[2];
            for (ExampleBlock<double>* example : {&whole, &grouped}) {
                const int at = example == &grouped, lanes = at ? k - m : k;
                std::copy_n(block.whole.gradient.data(), lanes, example->scores());
                std::copy_n(block.whole.beta.data(), lanes, example->beta());
                states[at] = example->prepare(block.whole.y, q, block.whole.C, 0);
                reports[at] = example->report();
                BlockSolver<double> solver({}, 7);
                own[at] = states[at].moves ? example->solve(solver).own_change : 0;
            }
            CHECK(states[0].moves == states[1].moves);
            CHECK_CLOSE(states[0].gap, states[1].gap, 1e-12);
            CHECK_CLOSE(reports[0].loss, reports[1].loss, 1e-12);
            CHECK_CLOSE(reports[0].violation, reports[1].violation, 1e-12);
            CHECK_CLOSE(own[0], own[1], 1e-9);
        }
    }
}

TEST(block, solvers_reach_the_optimum_of_a_fit) {
    const Shape shape;
    const Data data(shape);
    LinearOptions options = tight();
    for (const Machine& machine : registered_machines) {
        for (const BlockSolverInfo& info : registered_block_solvers) {
            if (!info.defined_for(machine)) continue;
            options.block = {info.kind, 1e-9, 0};
            options.goal.tol = is_exact(info.kind) ? 1e-6 : 1e-4;
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() =
                    describe(machine, shape, Rows::is_sparse) + ", " + std::string(info.name);
                const auto problem = data.problem(rows, machine);
                check_optimal(problem, fit(problem, options), options.goal.tol);
            });
        }
    }
}

// Lists of dual variables take another way through the visit.
TEST(block, solvers_reach_the_optimum_with_many_classes) {
    const Shape shape{.n = 40, .d = 8, .k = 40};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    LinearOptions options = tight();
    options.goal.tol = 1e-3;
    for (const Machine& machine : registered_machines) {
        for (const BlockSolverInfo& info : registered_block_solvers) {
            if (!info.defined_for(machine)) continue;
            context() = describe(machine, shape, true) + ", " + std::string(info.name);
            options.block = {info.kind, 1e-9, 0};
            const auto problem = data.problem(rows, machine);
            check_optimal(problem, fit(problem, options), options.goal.tol);
        }
    }
}

TEST(block, names_are_found) {
    for (const BlockSolverInfo& info : registered_block_solvers) {
        CHECK(find_block_solver(info.name)->kind == info.kind);
    }
    CHECK(find_block_solver("no such solver") == nullptr);
}

// Crammer & Singer (2001), figure 3, on the simplex of all classes, step by step.
TEST(block, fixed_point_starts_and_steps_as_printed) {
    const std::vector<double> z = {0.4, -0.3, 1.2, 0.9, -1.5};  // of the other classes
    const std::vector<double> beta(z.size());
    const double capacity = 1.3, total = 0.2;
    std::vector<double> D = z;  // less B, as the thresholds are
    D.push_back(capacity - total);
    const double k = static_cast<double>(D.size());
    Block<double> block{.z = const_cast<double*>(z.data()),
                        .beta = beta.data(),
                        .q = 1,
                        .size = z.size(),
                        .count = static_cast<int>(z.size()),
                        .k = static_cast<int>(k),
                        .z_own = 0,
                        .b_own = 0,
                        .upper = std::numeric_limits<double>::infinity(),
                        .upper_own = 0,
                        .capacity = capacity,
                        .rho = 1,
                        .total = total,
                        .simplex = true,
                        .imbalance = 0,
                        .free = 0,
                        .largest = 1.2,
                        .lowest = 1.2 - capacity,
                        .offset = 0};
    double theta = *std::ranges::min_element(D);
    for (int step = 1; step <= 6; ++step) {
        double sum = 0;
        for (const double value : D) sum += std::max(theta, value);
        theta = sum / k - capacity / k;
        CHECK_CLOSE(block::fixed_point_thresholds(block, 0.0, step).other, theta, 1e-14);
    }
}

}  // namespace
}  // namespace polymargin::testing
