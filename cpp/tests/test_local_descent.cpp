// Descent by two holders of examples, whose changes are added up after every part of a sweep.
#include "polymargin/linear/local_descent.hpp"

#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

template <class Rows>
struct Holder {
    using T = typename Rows::value_type;

    Holder(const Data& data, const Machine& machine, double sigma)
        : rows(data.rows<Rows>()),
          problem(data.problem(rows, machine)),
          duals(problem.size(), problem.k),
          weights(problem.template weights<DenseWeights<T>>()),
          local(problem, options, duals, weights) {
        local.set_sigma(sigma);
    }

    Rows rows;
    LinearOptions options{};
    LinearProblem<Rows> problem;
    Duals<T> duals;
    DenseWeights<T> weights;
    LocalDescent<Rows, DenseWeights<T>> local;
};

// W <- W + sum V for the holders of W + sigma V.
template <class Rows>
void join(Holder<Rows>& a, Holder<Rows>& b, std::vector<typename Rows::value_type>& W,
          double sigma) {
    const auto of_a = a.weights.packed(), of_b = b.weights.packed();
    for (std::size_t at = 0; at < W.size(); ++at) {
        W[at] += ((of_a[at] - W[at]) + (of_b[at] - W[at])) / typename Rows::value_type(sigma);
    }
    a.weights.unpack(W);
    b.weights.unpack(W);
}

template <class Rows>
Certificate certificate_of(Holder<Rows>& a, Holder<Rows>& b) {
    PassingCertificate<DenseWeights<double>> sums(a.rows.features(), a.problem.k, a.problem.bias);
    for (Holder<Rows>* holder : {&a, &b}) {
        if (a.problem.machine.zero_sum) holder->weights.centre();
        check_stream(holder->problem, holder->weights, holder->duals, sums);
    }
    return sums.at(a.weights);
}

TEST(local_descent, of_two_holders_never_lowers_the_dual_and_closes_the_gap) {
    constexpr double sigma = 2;
    constexpr std::size_t parts = 3;
    for (const int k : {5, 40}) {
        const Shape shape{.k = k}, other{.k = k, .seed = 2};
        const Data one(shape), two(other);
        for (const Machine& machine : registered_machines) {
            for_both_kinds(one, [&]<class Rows>(const Rows&) {
                context() = describe(machine, shape, Rows::is_sparse);
                Holder<Rows> a(one, machine, sigma), b(two, machine, sigma);
                double dual = 0;
                Certificate now{};
                for (int pass = 0; pass < 2000; ++pass) {
                    const bool all = pass % 3 == 0;
                    a.local.begin(all);
                    b.local.begin(all);
                    auto W = a.weights.packed();
                    for (std::size_t part = 0; part < parts; ++part) {
                        descend(a.local, part, parts, 0, Observer{});
                        descend(b.local, part, parts, 0, Observer{});
                        join(a, b, W, sigma);
                    }
                    a.local.end();
                    b.local.end();
                    if (pass % 50 != 49) continue;
                    now = certificate_of(a, b);
                    CHECK(now.dual >= dual - 1e-5 * now.primal);
                    dual = now.dual;
                    if (now.gap() <= 1e-3) break;
                }
                CHECK(now.gap() <= 1e-3);
                CHECK(now.dual > 0);
            });
        }
    }
}

TEST(local_descent, of_one_holder_visits_all_its_examples) {
    const Data data(Shape{});
    Holder<Dense> only(data, registered_machines[0], 1);
    only.local.begin(true);
    double visits = 0;
    for (std::size_t part = 0; part < 7; ++part) {
        visits += descend(only.local, part, 7, 0, Observer{}).second;
    }
    only.local.end();
    CHECK(visits == double(data.shape.n));
}

}  // namespace
}  // namespace polymargin::testing
