// Views of the examples, and scores of new ones.
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

TEST(rows, strides_do_not_matter) {
    const Shape shape;
    const Data data(shape);
    const auto [n, d, k, C, bias, seed, zero_rows, density] = shape;
    std::vector<float> by_column(n * d), backwards(n * d);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            by_column[j * n + i] = data.values[i * d + j];
            backwards[(n - 1 - i) * d + (d - 1 - j)] = data.values[i * d + j];
        }
    }
    const Dense plain = data.rows<Dense>();
    const Dense columns(by_column.data(), n, d, 1, static_cast<std::ptrdiff_t>(n));
    const Dense reversed(backwards.data() + n * d - 1, n, d, -static_cast<std::ptrdiff_t>(d), -1);
    const auto expected = fit(data.problem(plain, machines::ww), tight());
    for (const Dense* rows : {&columns, &reversed}) {
        const auto result = fit(data.problem(*rows, machines::ww), tight());
        CHECK(expected.weights.packed() == result.weights.packed());
    }
}

TEST(rows, repeated_and_unsorted_entries_add_up) {
    const std::vector<double> values{1, 2, 3, 4, 5}, merged{4, 2, 4, 5};
    const std::vector<std::int32_t> indices{2, 0, 2, 1, 0}, offsets{0, 3, 5};
    const std::vector<std::int32_t> sorted{2, 0, 1, 0}, starts{0, 2, 4};
    const Sparse repeated(values.data(), indices.data(), offsets.data(), 2, 3);
    const Sparse plain(merged.data(), sorted.data(), starts.data(), 2, 3);
    const std::vector<double> norms = squared_norms(plain);
    CHECK(squared_norms(repeated) == norms);
    const std::vector<std::int32_t> labels{0, 1};
    const std::vector<double> upper{0.02, 0.03};
    const LinearOptions options = tight();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const LinearProblem<Sparse> one{repeated, norms, labels, upper, 2, machine, true};
        const LinearProblem<Sparse> other{plain, norms, labels, upper, 2, machine, true};
        const auto first = fit(one, options), second = fit(other, options);
        check_optimal(one, first, options.goal.tol);
        CHECK_CLOSE(first.outcome.certificate.primal, second.outcome.certificate.primal, 3e-6);
    }
}

TEST(rows, scores_of_new_rows) {
    const Shape shape;
    const Data data(shape);
    const auto k = static_cast<std::size_t>(shape.k);
    for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
        using T = typename Rows::value_type;
        const auto problem = data.problem(rows, machines::cs);
        const auto result = fit(problem, tight());
        const std::vector<T> weights = result.weights.packed();
        const T* intercept = weights.data() + shape.d * k;
        // The same coefficients with the classes, then with the features, contiguous.
        std::vector<T> by_class(k * shape.d);
        for (std::size_t c = 0; c < k; ++c) {
            for (std::size_t j = 0; j < shape.d; ++j)
                by_class[c * shape.d + j] = weights[j * k + c];
        }
        for (const int threads : {1, 2}) {
            std::vector<T> out(shape.n * k), again(shape.n * k);
            predict_scores(rows, weights.data(), k, 1, std::ptrdiff_t(k), intercept, out.data(),
                           threads);
            predict_scores(rows, by_class.data(), k, std::ptrdiff_t(shape.d), 1, intercept,
                           again.data(), threads);
            for (std::size_t i = 0; i < shape.n; ++i) {
                const std::vector<double> f = scores_of(problem, weights, i);
                for (std::size_t c = 0; c < k; ++c) {
                    CHECK_CLOSE(out[i * k + c], f[c], 1e-5);
                    CHECK_CLOSE(again[i * k + c], f[c], 1e-5);
                }
            }
        }
    });
}

}  // namespace
}  // namespace polymargin::testing
