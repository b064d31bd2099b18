// Kernel values, scores and working sets.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "polymargin/kernel/dual.hpp"
#include "polymargin/kernel/functions.hpp"
#include "polymargin/kernel/products.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

template <class T>
void exp_is_exact(double low, double high) {
    constexpr std::size_t lanes = simd::full_lanes<T>;
    for (double x = low; x < high; x += (high - low) / 9973) {
        T values[lanes];
        for (std::size_t lane = 0; lane < lanes; ++lane) values[lane] = T(x) / T(1 + lane);
        const auto result = simd::exp(simd::load<simd::Pack<T>>(values));
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double exact = std::exp(double(values[lane]));
            CHECK(std::abs(result[lane] / exact - 1) <= 4 * std::numeric_limits<T>::epsilon());
        }
    }
}

TEST(kernel, exp_is_exact_to_the_last_digits) {
    exp_is_exact<float>(-86, 87);
    exp_is_exact<double>(-700, 700);
}

TEST(kernel, exp_of_extremes) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float values[simd::full_lanes<float>] = {infinity, -infinity, 1000, -1000,
                                                   std::numeric_limits<float>::quiet_NaN()};
    const auto result = simd::exp(simd::load<simd::Pack<float>>(values));
    CHECK(result[0] == infinity && result[1] == 0 && result[2] == infinity && result[3] == 0);
    CHECK(std::isnan(result[4]) && result[5] == 1);
}

// Every kernel as its definition reads.
double expected(KernelKind kind, double product, double x, double z) {
    const double gamma = 0.3, coef0 = 0.5;
    const auto inner = [&](double value) { return gamma * value + coef0; };
    using enum KernelKind;
    switch (kind) {
        case linear: return product;
        case rbf: return std::exp(-gamma * (x + z - 2 * product));
        case poly: return std::pow(inner(product), 3);
        case normalized_poly: return std::pow(inner(product) / std::sqrt(inner(x) * inner(z)), 3);
        case sigmoid: return std::tanh(inner(product));
        case exponential: return std::exp(-gamma * product);
    }
    __builtin_unreachable();
}

template <class Rows>
std::vector<typename Rows::value_type> products_of(const Rows& rows, int threads) {
    using T = typename Rows::value_type;
    std::vector<T> products(rows.size() * rows.size());
    kernel::fill<kernel::InnerProduct>(kernel::Packs<typename Rows::value_type>(rows), rows,
                                       products.data(), rows.size(), threads);
    return products;
}

TEST(kernel, values_are_those_of_the_definitions) {
    const Shape shape{.n = 37, .d = 6};
    const Data data(shape);
    for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
        using T = typename Rows::value_type;
        const std::vector<T> norms = squared_norms<T>(rows);
        const std::vector<T> products = products_of(rows, 1);
        CHECK(products == products_of(rows, 3));
        using enum KernelKind;
        for (const KernelKind kind : {linear, rbf, poly, normalized_poly, sigmoid, exponential}) {
            for (const bool bias : {false, true}) {
                std::vector<T> values = products;
                const KernelFunction function{kind, 0.3, 0.5, 3, bias};
                kernel::transform(function, values.data(), shape.n, shape.n, shape.n, norms.data(),
                                  norms.data(), 2);
                for (std::size_t i = 0; i < shape.n; ++i) {
                    for (std::size_t j = 0; j < shape.n; ++j) {
                        const double product = products[i * shape.n + j];
                        const double exact = expected(kind, product, norms[i], norms[j]) + bias;
                        CHECK_CLOSE(values[i * shape.n + j], exact,
                                    200 * std::numeric_limits<T>::epsilon());
                    }
                }
            }
        }
    });
}

TEST(kernel, distances_are_sums_of_differences) {
    const Shape shape{.n = 19, .d = 6, .density = 0.4};
    const Data data(shape);
    for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
        using T = typename Rows::value_type;
        std::vector<T> distances(shape.n * shape.n);
        kernel::fill<kernel::ManhattanDistance>(kernel::Packs<T>(rows), rows, distances.data(),
                                                shape.n, 2);
        for (std::size_t i = 0; i < shape.n; ++i) {
            for (std::size_t j = 0; j < shape.n; ++j) {
                double sum = 0;
                for (std::size_t f = 0; f < shape.d; ++f) {
                    sum += std::abs(double(data.values[i * shape.d + f]) -
                                    data.values[j * shape.d + f]);
                }
                CHECK_CLOSE(distances[i * shape.n + j], sum, 1e-5);
            }
        }
    });
}

// Working sets of a few examples, taken in turn, with the linear kernel: the linear problem.
TEST(kernel, working_sets_solve_the_linear_problem) {
    const Shape shape{.n = 60, .d = 6, .k = 5, .C = 0.3, .bias = false};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const std::vector<double> K = products_of(rows, 1), diagonal = squared_norms(rows);
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const double best = fit(data.problem(rows, machine), tight()).outcome.certificate.dual;
        const KernelProblem<double> problem{data.labels, data.upper, diagonal, shape.k, machine};
        KernelDual<double> dual(problem, Duals<double>(shape.n, shape.k), {}, 0, 2);
        Certificate certificate{};
        std::vector<double> gaps(shape.n), violations(shape.n);
        for (int round = 0; round < 4000; ++round) {
            std::vector<std::int64_t> set;
            for (std::int64_t e = 0; e < 20; ++e) set.push_back((7 * round + 3 * e) % 60);
            std::vector<double> gram;
            std::vector<const double*> kernel_rows;
            for (const auto i : set) {
                for (const auto j : set) gram.push_back(K[i * shape.n + j]);
                kernel_rows.push_back(K.data() + i * shape.n);
            }
            dual.solve(set, gram.data(), {0.01, 50});
            std::vector<std::int64_t> which(set.size());
            std::iota(which.begin(), which.end(), 0);
            dual.add_scores(which, kernel_rows, 0, shape.n);
            certificate = dual.check(gaps, violations);
            if (certificate.gap() < 1e-6) break;
        }
        CHECK_CLOSE(certificate.dual, best, 1e-5);
        CHECK(*std::max_element(violations.begin(), violations.end()) == certificate.violation);
        CHECK_CLOSE(std::accumulate(gaps.begin(), gaps.end(), 0.0),
                    certificate.primal - certificate.dual, 1e-9);
    }
}

// Some examples move alone, then all scores are brought up to date.
TEST(kernel, parts_move_the_whole) {
    const Shape shape{.n = 40, .d = 6, .k = 5, .C = 0.3, .bias = false};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const std::vector<double> K = products_of(rows, 1), diagonal = squared_norms(rows);
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const KernelProblem<double> problem{data.labels, data.upper, diagonal, shape.k, machine};
        KernelDual<double> whole(problem, Duals<double>(shape.n, shape.k), {}, 0, 1);
        const auto update = [&](std::span<const std::int64_t> changed) {
            std::vector<std::int64_t> which(changed.size());
            std::iota(which.begin(), which.end(), 0);
            std::vector<const double*> kernel_rows;
            for (const auto i : changed) kernel_rows.push_back(K.data() + i * shape.n);
            whole.add_scores(which, kernel_rows, 0, shape.n);
        };
        std::vector<double> gaps(shape.n), violations(shape.n);
        std::vector<std::int64_t> all(shape.n);
        std::iota(all.begin(), all.end(), 0);
        whole.solve(all, K.data(), {0.5, 1});
        update(all);
        const double before = whole.check(gaps, violations).dual;

        const std::vector<std::int64_t> active{3, 5, 8, 13, 21, 34};
        std::vector<std::int32_t> labels;
        std::vector<double> upper, own, gram;
        for (const auto i : active) {
            labels.push_back(data.labels[i]);
            upper.push_back(data.upper[i]);
            own.push_back(diagonal[i]);
            for (const auto j : active) gram.push_back(K[i * shape.n + j]);
        }
        const KernelProblem<double> few{labels, upper, own, shape.k, machine};
        KernelDual<double> part(few, whole, active);
        CHECK(std::abs(whole.gain(part, active)) < 1e-12);
        std::vector<std::int64_t> positions(active.size());
        std::iota(positions.begin(), positions.end(), 0);
        part.solve(positions, gram.data(), {0.01, 50});
        std::vector<const double*> gram_rows;
        for (const auto e : positions) gram_rows.push_back(gram.data() + e * active.size());
        part.add_scores(positions, gram_rows, 0, active.size());
        const double gain = whole.gain(part, active);
        CHECK(gain > 0);

        whole.absorb(part, active);
        update(active);
        CHECK_CLOSE(whole.check(gaps, violations).dual, before + gain, 1e-12);
        for (const auto e : positions) {
            for (int c = 0; c < shape.k; ++c) {
                CHECK_CLOSE(whole.scores().of_class(c)[active[e]], part.scores().of_class(c)[e],
                            1e-12);
            }
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
