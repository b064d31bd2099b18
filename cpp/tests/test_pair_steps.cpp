// Steps over two variables of a working set.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness.hpp"
#include "kernel_data.hpp"
#include "polymargin/kernel/pair_steps.hpp"
#include "polymargin/machines/registry.hpp"

namespace polymargin::testing {
namespace {

const Machine& relative_box() {
    return *std::ranges::find_if(registered_machines, PairSteps<double>::defined_for);
}

// The whole of a small problem as one working set, and what its dual variables mean.
template <class T>
struct Whole {
    explicit Whole(const KernelData<T>& data)
        : data(data), problem(data.problem(relative_box())), beta(data.n * data.k) {
        for (std::size_t i = 0; i < data.n; ++i) examples.push_back(std::int64_t(i));
    }

    T at(std::size_t i, int c) const { return beta[i * data.k + c]; }

    // f_ic by class, in double.
    std::vector<double> scores() const {
        std::vector<double> values(data.k * data.n);
        for (std::size_t j = 0; j < data.n; ++j) {
            for (int c = 0; c < data.k; ++c) {
                for (std::size_t i = 0; i < data.n && at(j, c) != 0; ++i) {
                    const double moved = double(at(j, c)) * data.gram[i * data.n + j];
                    values[data.labels[j] * data.n + i] += moved;
                    values[c * data.n + i] -= moved;
                }
            }
        }
        return values;
    }

    double gradient(const std::vector<double>& f, std::size_t i, int c) const {
        return 1 - f[data.labels[i] * data.n + i] + f[c * data.n + i];
    }

    double dual() const {
        const std::vector<double> f = scores();
        double sum = 0;
        for (std::size_t i = 0; i < data.n; ++i) {
            for (int c = 0; c < data.k; ++c) {
                sum += 0.5 * double(at(i, c)) * (1 + gradient(f, i, c));
            }
        }
        return sum;
    }

    double violation() const {
        const std::vector<double> f = scores();
        double most = 0;
        for (std::size_t i = 0; i < data.n; ++i) {
            for (int c = 0; c < data.k; ++c) {
                if (c == data.labels[i]) continue;
                const double g = gradient(f, i, c);
                if (at(i, c) < T(data.upper[i])) most = std::max(most, g);
                if (at(i, c) > 0) most = std::max(most, -g);
            }
        }
        return most;
    }

    std::int64_t step(std::int64_t most, double enough = 0) {
        const std::vector<double> wide = scores();
        const std::vector<T> f(wide.begin(), wide.end());
        PairSteps<T> steps(problem);
        return steps.solve(examples, data.gram.data(), f.data(), data.n, enough, most, beta.data(),
                           std::size_t(data.k));
    }

    const KernelData<T>& data;
    KernelProblem<T> problem;
    std::vector<std::int64_t> examples;
    std::vector<T> beta;
};

template <class T>
void reaches_the_optimum(const KernelData<T>& data) {
    Whole<T> whole(data);
    for (int round = 0; round < 100; ++round) whole.step(500);
    CHECK(whole.violation() <= 2e3 * std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < data.n; ++i) {
        CHECK(whole.at(i, data.labels[i]) == 0);
        for (int c = 0; c < data.k; ++c) {
            CHECK(whole.at(i, c) >= 0 && whole.at(i, c) <= T(data.upper[i]));
        }
    }
}

TEST(pair_steps, the_optimum_is_reached) {
    reaches_the_optimum(KernelData<double>());
    reaches_the_optimum(KernelData<float>());
    reaches_the_optimum(KernelData<double>({1, 0.1, 3}));
}

TEST(pair_steps, variables_without_a_curvature_go_to_their_bound) {
    const KernelData<double> data({1, 0, 2});
    Whole<double> whole(data);
    for (int round = 0; round < 50; ++round) whole.step(500);
    for (std::size_t i = 1; i < data.n; i += 3) {
        for (int c = 0; c < data.k; ++c) {
            CHECK(whole.at(i, c) == (c == data.labels[i] ? 0 : data.upper[i]));
        }
    }
}

TEST(pair_steps, each_step_raises_the_dual_objective) {
    const KernelData<double> data;
    Whole<double> whole(data);
    double before = whole.dual();
    for (int step = 0; step < 200; ++step) {
        CHECK(whole.step(1) == 1);
        const double now = whole.dual();
        CHECK(now > before - 1e-12);
        before = now;
    }
    CHECK(before > 1);
}

TEST(pair_steps, they_end_where_the_gap_is_small_enough) {
    const KernelData<double> data;
    Whole<double> rough(data), exact(data);
    const std::int64_t few = rough.step(100'000, 0.1), many = exact.step(100'000, 1e-6);
    CHECK(few < many && many < 100'000);
    CHECK(rough.dual() < exact.dual());
    CHECK(exact.dual() - rough.dual() < 0.1 + 1e-6);
}

}  // namespace
}  // namespace polymargin::testing
