// Block solvers: alone on random blocks, and inside a fit.
#include "polymargin/block/example.hpp"
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

std::vector<double> solve(const Machine& machine, const RandomBlock& block, BlockChoice choice) {
    const int k = static_cast<int>(block.beta.size());
    BlockSolver<double> solver(choice, 7);
    ExampleBlock<double> example(machine, k);
    std::vector<double> out(k);
    example.solve(block.gradient.data(), block.beta.data(), block.q, block.C, block.y, solver,
                  out.data());
    return out;
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

TEST(block, solvers_reach_the_optimum_of_a_fit) {
    const Shape shape;
    const Data data(shape);
    LinearOptions options = tight(shape);
    for (const Machine& machine : registered_machines) {
        for (const BlockSolverInfo& info : registered_block_solvers) {
            if (!info.defined_for(machine)) continue;
            options.block = {info.kind, 1e-9, 0};
            options.tol = is_exact(info.kind) ? 1e-6 : 1e-4;
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() =
                    describe(machine, shape, Rows::is_sparse) + ", " + std::string(info.name);
                const auto problem = data.problem(rows, machine);
                check_optimal(problem, fit(problem, options), options.tol);
            });
        }
    }
}

// Lists of dual variables take another way through the visit.
TEST(block, solvers_reach_the_optimum_with_many_classes) {
    const Shape shape{.n = 40, .d = 8, .k = 40};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    LinearOptions options = tight(shape);
    options.tol = 1e-3;
    for (const Machine& machine : registered_machines) {
        for (const BlockSolverInfo& info : registered_block_solvers) {
            if (!info.defined_for(machine)) continue;
            context() = describe(machine, shape, true) + ", " + std::string(info.name);
            options.block = {info.kind, 1e-9, 0};
            const auto problem = data.problem(rows, machine);
            check_optimal(problem, fit(problem, options), options.tol);
        }
    }
}

TEST(block, names_are_found) {
    for (const BlockSolverInfo& info : registered_block_solvers) {
        CHECK(find_block_solver(info.name)->kind == info.kind);
    }
    CHECK(find_block_solver("no such solver") == nullptr);
}

}  // namespace
}  // namespace polymargin::testing
