// Kernel values, scores and working sets.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "polymargin/kernel/certificate.hpp"
#include "polymargin/kernel/functions.hpp"
#include "polymargin/kernel/products.hpp"
#include "polymargin/kernel/working_set_solver.hpp"
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

// Scores of all examples under a kernel matrix, as a device keeps them.
class DeviceScores {
public:
    DeviceScores(std::vector<double> K, int k)
        : n_(std::size_t(std::lround(std::sqrt(double(K.size()))))),
          k_(k),
          K_(std::move(K)),
          values_(n_ * k) {}

    double at(std::size_t i, int c) const { return values_[c * n_ + i]; }
    ScoreRows all() const { return {values_.data(), 1, std::ptrdiff_t(n_), k_}; }

    // The scores of some examples, one row for each.
    std::vector<double> of(std::span<const std::int64_t> examples) const {
        std::vector<double> rows;
        for (const auto i : examples) {
            for (int c = 0; c < k_; ++c) rows.push_back(at(i, c));
        }
        return rows;
    }
    ScoreRows rows(const std::vector<double>& some) const { return {some.data(), k_, 1, k_}; }

    std::vector<double> gram(std::span<const std::int64_t> examples) const {
        std::vector<double> values;
        for (const auto i : examples) {
            for (const auto j : examples) values.push_back(K_[i * n_ + j]);
        }
        return values;
    }

    void add(const AlphaChanges<double>& changes, int threads = 1) {
        std::vector<std::int64_t> which(changes.size());
        std::iota(which.begin(), which.end(), 0);
        std::vector<const double*> kernel_rows;
        for (const auto i : changes.examples) kernel_rows.push_back(K_.data() + i * n_);
        Scores(values_.data(), n_, k_)
            .add(changes, which, std::span<const double* const>(kernel_rows), 0, n_, threads);
    }

    // For some examples alone.
    DeviceScores part(std::span<const std::int64_t> examples) const {
        DeviceScores result(gram(examples), k_);
        for (std::size_t e = 0; e < examples.size(); ++e) {
            for (int c = 0; c < k_; ++c)
                result.values_[c * examples.size() + e] = at(examples[e], c);
        }
        return result;
    }

private:
    std::size_t n_;
    int k_;
    std::vector<double> K_, values_;
};

std::vector<std::int64_t> first_numbers(std::size_t n) {
    std::vector<std::int64_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

// Calls body(machine, by_pairs): whole examples, and pairs of variables where that is defined.
template <class Body>
void for_each_way(Body&& body) {
    for (const Machine& machine : registered_machines) {
        for (const bool by_pairs : {false, true}) {
            if (by_pairs && !PairSteps<double>::defined_for(machine)) continue;
            context() = std::string(machine.name) + (by_pairs ? ", by pairs" : "");
            body(machine, by_pairs);
        }
    }
}

// A round: the scores are up to date after it. Returns the changes.
AlphaChanges<double> improve(WorkingSetSolver<double>& solver, DeviceScores& scores,
                             std::span<const std::int64_t> examples, double fraction, int passes) {
    const std::vector<double> gram = scores.gram(examples), some = scores.of(examples);
    auto outcome = solver.solve(examples, gram.data(), scores.rows(some), {fraction, passes});
    CHECK(outcome.visits > 0);
    scores.add(outcome.changes, 2);
    return std::move(outcome.changes);
}

// Working sets of a few examples, taken in turn, with the linear kernel: the linear problem.
TEST(kernel, working_sets_solve_the_linear_problem) {
    const Shape shape{.n = 60, .d = 6, .k = 5, .C = 0.3, .bias = false};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const std::vector<double> diagonal = squared_norms(rows);
    for_each_way([&](const Machine& machine, bool by_pairs) {
        const double best = fit(data.problem(rows, machine), tight()).outcome.certificate.dual;
        const KernelProblem<double> problem{data.labels, data.upper, diagonal, shape.k, machine};
        WorkingSetSolver<double> solver(problem, Duals<double>(shape.n, shape.k), {}, by_pairs, 0);
        DeviceScores scores(products_of(rows, 1), shape.k);
        Certificate certificate{};
        std::vector<double> gaps(shape.n), violations(shape.n);
        for (int round = 0; round < 4000; ++round) {
            std::vector<std::int64_t> set;
            for (std::int64_t e = 0; e < 20; ++e) set.push_back((7 * round + 3 * e) % 60);
            improve(solver, scores, set, 0.01, 50);
            certificate = certify(problem, solver.duals(), scores.all(), gaps, violations, 2);
            if (certificate.gap() < 1e-6) break;
        }
        CHECK_CLOSE(certificate.dual, best, 1e-5);
        CHECK(*std::max_element(violations.begin(), violations.end()) == certificate.violation);
        CHECK_CLOSE(std::accumulate(gaps.begin(), gaps.end(), 0.0),
                    certificate.primal - certificate.dual, 1e-9);
    });
}

// Some examples move alone, then all scores are brought up to date.
TEST(kernel, parts_move_the_whole) {
    const Shape shape{.n = 40, .d = 6, .k = 5, .C = 0.3, .bias = false};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const std::vector<double> diagonal = squared_norms(rows);
    for_each_way([&](const Machine& machine, bool by_pairs) {
        const KernelProblem<double> problem{data.labels, data.upper, diagonal, shape.k, machine};
        WorkingSetSolver<double> whole(problem, Duals<double>(shape.n, shape.k), {}, by_pairs, 0);
        DeviceScores scores(products_of(rows, 1), shape.k);
        std::vector<double> gaps(shape.n), violations(shape.n);
        const auto dual_objective = [&] {
            return certify(problem, whole.duals(), scores.all(), gaps, violations, 1).dual;
        };
        improve(whole, scores, first_numbers(shape.n), 0.5, 1);
        const double before = dual_objective();

        const std::vector<std::int64_t> active{3, 5, 8, 13, 21, 34};
        std::vector<std::int32_t> labels;
        std::vector<double> upper, own;
        for (const auto i : active) {
            labels.push_back(data.labels[i]);
            upper.push_back(data.upper[i]);
            own.push_back(diagonal[i]);
        }
        const KernelProblem<double> few{labels, upper, own, shape.k, machine};
        WorkingSetSolver<double> part(few, whole, active);
        DeviceScores part_scores = scores.part(active);
        const std::vector<double> old_scores = scores.of(active);
        const auto gain = [&] {
            return whole.gain(part, active, scores.rows(old_scores), part_scores.all());
        };
        CHECK(std::abs(gain()) < 1e-12);
        improve(part, part_scores, first_numbers(active.size()), 0.01, 50);
        const double risen = gain();
        CHECK(risen > 0);

        scores.add(whole.absorb(part, active));
        CHECK_CLOSE(dual_objective(), before + risen, 1e-12);
        for (std::size_t e = 0; e < active.size(); ++e) {
            for (int c = 0; c < shape.k; ++c) {
                CHECK_CLOSE(scores.at(active[e], c), part_scores.at(e, c), 1e-12);
            }
        }
    });
}

// Changes list those examples alone that moved, and the dual variables say the same.
TEST(kernel, changes_are_those_of_the_dual_variables) {
    const Shape shape{.n = 40, .d = 6, .k = 5, .C = 0.3, .bias = false};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const std::vector<double> diagonal = squared_norms(rows);
    const std::vector<std::int64_t> all = first_numbers(shape.n), set{2, 3, 11, 25, 30};
    for_each_way([&](const Machine& machine, bool by_pairs) {
        const KernelProblem<double> problem{data.labels, data.upper, diagonal, shape.k, machine};
        WorkingSetSolver<double> solver(problem, Duals<double>(shape.n, shape.k), {}, by_pairs, 0);
        CHECK(solver.changes_from_zero(all).size() == 0);
        DeviceScores scores(products_of(rows, 1), shape.k);
        const AlphaChanges<double> changes = improve(solver, scores, set, 0.01, 50);
        CHECK(changes.size() > 0 && changes.size() <= set.size());
        for (const auto i : changes.examples) CHECK(std::ranges::count(set, i) == 1);

        const AlphaChanges<double> again = solver.changes_from_zero(all);
        CHECK(again.examples == changes.examples);
        DeviceScores summed(products_of(rows, 1), shape.k);
        summed.add(again);
        for (std::size_t i = 0; i < shape.n; ++i) {
            std::vector<double> expected(shape.k), found(shape.k);
            scores.all().read(i, machine.zero_sum, expected.data());
            summed.all().read(i, machine.zero_sum, found.data());
            for (int c = 0; c < shape.k; ++c) CHECK_CLOSE(found[c], expected[c], 1e-12);
        }

        // Another pass over what is solved hardly moves anybody.
        improve(solver, scores, set, 0, 1000);
        const AlphaChanges<double> rest = improve(solver, scores, set, 0, 1);
        for (const double value : rest.values) CHECK(std::abs(value) < 1e-6);
    });
}

}  // namespace
}  // namespace polymargin::testing
