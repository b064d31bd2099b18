// Training on a stream.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// Without dual variables.
template <class Rows, class T = typename Rows::value_type>
std::size_t visit_once(const LinearProblem<Rows>& problem, const LinearOptions& options,
                       Store<T>& weights, const Observer& observer = {}) {
    return train_stream(problem, options, weights, static_cast<Duals<T>*>(nullptr), observer);
}

template <class Rows, WeightStore Weights, class T>
Certificate certificate_of(const LinearProblem<Rows>& problem, const Weights& weights,
                           const Duals<T>& kept) {
    PassingCertificate<typename Weights::InDouble> certificate(problem.rows.features(), problem.k,
                                                               problem.bias);
    check_stream(problem, weights, kept, certificate);
    return certificate.at(weights);
}

// After one example the stream has solved the whole problem.
TEST(stream, one_example_is_solved_exactly) {
    for (const int k : {3, 40}) {
        const Shape shape{.n = 1, .d = 7, .k = k, .C = 0.05};
        const Data data(shape);
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                const auto problem = data.problem(rows, machine);
                const auto expected = fit(problem, tight());
                auto weights = problem.template weights<Store<typename Rows::value_type>>();
                visit_once(problem, tight(), weights);
                if (machine.zero_sum) weights.centre();
                CHECK_CLOSE(primal_of(problem, weights.packed()),
                            expected.outcome.certificate.primal, 2e-6);
            });
        }
    }
}

// It does not matter how the stream is cut into batches.
TEST(stream, batches_continue_each_other) {
    for (const int k : {5, 40}) {
        const Shape shape{.n = 100, .k = k};
        const Data data(shape);
        const auto d = static_cast<std::ptrdiff_t>(shape.d);
        for (const Machine& machine : registered_machines) {
            context() = describe(machine, shape, false);
            const Dense all = data.rows<Dense>();
            Store<float> whole(shape.d, k, true), parts(shape.d, k, true);
            visit_once(data.problem(all, machine), tight(), whole);
            for (std::size_t first = 0; first < shape.n; first += 30) {
                const std::size_t count = std::min<std::size_t>(30, shape.n - first);
                const Dense batch(data.values.data() + first * shape.d, count, shape.d, d, 1);
                const LinearProblem<Dense> problem{
                    batch,
                    std::span<const double>(data.norms).subspan(first, count),
                    std::span<const std::int32_t>(data.labels).subspan(first, count),
                    std::span<const double>(data.upper).subspan(first, count),
                    k,
                    machine,
                    true};
                visit_once(problem, tight(), parts);
            }
            CHECK(whole.packed() == parts.packed());
        }
    }
}

// Weston-Watkins and Crammer-Singer learn within one pass.
TEST(stream, one_pass_learns) {
    const Shape shape{.n = 300, .d = 10, .C = 0.1};
    const Data data(shape);
    for (const Machine& machine : {machines::ww, machines::cs}) {
        for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
            context() = describe(machine, shape, Rows::is_sparse);
            const auto problem = data.problem(rows, machine);
            auto weights = problem.template weights<Store<typename Rows::value_type>>();
            visit_once(problem, tight(), weights);
            std::size_t correct = 0;
            for (std::size_t i = 0; i < shape.n; ++i) {
                const std::vector<double> f = scores_of(problem, weights.packed(), i);
                correct += std::max_element(f.begin(), f.end()) - f.begin() == data.labels[i];
            }
            CHECK(correct > 2 * shape.n / 3);
        });
    }
}

// With the dual variables kept, passes over a stream close the gap of the whole problem.
TEST(stream, passes_with_duals_reach_the_optimum) {
    for (const int k : {4, 40}) {
        const Shape shape{.n = 60, .d = 8, .k = k, .C = 0.02};
        const Data data(shape);
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                const auto problem = data.problem(rows, machine);
                const auto expected = fit(problem, tight());
                using T = typename Rows::value_type;
                auto weights = problem.template weights<Store<T>>();
                Duals<T> kept(shape.n, k);
                for (int pass = 0; pass < 300; ++pass) {
                    train_stream(problem, tight(), weights, &kept, Observer{});
                }
                if (machine.zero_sum) weights.centre();
                CHECK_CLOSE(primal_of(problem, weights.packed()),
                            expected.outcome.certificate.primal, 1e-3);
                const Certificate reached = certificate_of(problem, weights, kept);
                CHECK_CLOSE(reached.primal, primal_of(problem, weights.packed()), 1e-10);
                CHECK_CLOSE(reached.dual, expected.outcome.certificate.dual, 1e-3);
            });
        }
    }
}

// Weights in any store are those of an array, and so is their certificate; with 200 classes a
// sparse one has lists.
TEST(stream, stores_agree) {
    const Shape shape{.n = 80, .d = 60, .k = 200, .C = 0.5, .density = 0.05};
    const Data data(shape);
    for (const Machine& machine : registered_machines) {
        for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
            context() = describe(machine, shape, Rows::is_sparse);
            const auto problem = data.problem(rows, machine);
            using T = typename Rows::value_type;
            const auto run = [&]<class Weights>(Weights weights) {
                Duals<T> kept(shape.n, shape.k);
                for (int pass = 0; pass < 3; ++pass) {
                    train_stream(problem, tight(), weights, &kept, Observer{});
                }
                if (machine.zero_sum) weights.centre();
                return std::pair(weights.packed(), certificate_of(problem, weights, kept));
            };
            const auto [expected, certified] = run(problem.template weights<DenseWeights<T>>());
            const auto [weights, certificate] = run(problem.template weights<Store<T>>());
            const double close = std::is_same_v<T, float> ? 1e-4 : 1e-10;
            CHECK_CLOSE(certificate.primal, certified.primal, close);
            CHECK_CLOSE(certificate.dual, certified.dual, close);
            double furthest = 0;
            for (std::size_t at = 0; at < weights.size(); ++at) {
                furthest = std::max(furthest, std::abs(double(weights[at]) - expected[at]));
            }
            CHECK(furthest < close);
        });
    }
}

// D is that of the dual variables, wherever the weights are.
TEST(stream, certificate_does_not_trust_the_weights) {
    const Shape shape{.n = 60, .d = 8, .k = 4, .C = 0.02};
    const Data data(shape);
    for (const Machine& machine : registered_machines) {
        for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
            context() = describe(machine, shape, Rows::is_sparse);
            const auto problem = data.problem(rows, machine);
            using T = typename Rows::value_type;
            auto weights = problem.template weights<Store<T>>();
            Duals<T> kept(shape.n, shape.k);
            train_stream(problem, tight(), weights, &kept, Observer{});
            if (machine.zero_sum) weights.centre();
            const Certificate before = certificate_of(problem, weights, kept);
            weights.scale(T(0.5));
            const Certificate after = certificate_of(problem, weights, kept);
            CHECK(after.dual == before.dual);
            CHECK_CLOSE(after.primal, primal_of(problem, weights.packed()), 1e-10);
        });
    }
}

TEST(stream, can_be_interrupted) {
    const Shape shape{.n = 5000, .d = 3, .k = 3};
    const Data data(shape);
    const Dense rows = data.rows<Dense>();
    int asked = 0;
    const Observer observer{.on_check = nullptr, .interrupted = [&] { return ++asked == 1; }};
    Store<float> weights(shape.d, shape.k, true);
    const std::size_t seen =
        visit_once(data.problem(rows, machines::ww), tight(), weights, observer);
    CHECK(asked == 1);
    CHECK(seen == 1024);
}

}  // namespace
}  // namespace polymargin::testing
