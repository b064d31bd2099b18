// Descent by two holders of examples, whose changes are added up after every part of a sweep.
#include "polymargin/linear/local_descent.hpp"

#include <tuple>

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

TEST(local_descent, variables_at_rest_for_three_sweeps_are_left_out) {
    IdleVariables idle(1);
    Duals<double> duals(1, 40);
    idle.begin(true);
    for (std::uint32_t sweep = 0; sweep < IdleVariables::patience; ++sweep) {
        CHECK(!idle.leaves_out(0) && !idle.leaves_out_unlisted(0));
        idle.note(0, false, duals);
    }
    CHECK(idle.leaves_out(0) && idle.leaves_out_unlisted(0));
    idle.take_back();
    CHECK(!idle.leaves_out(0) && !idle.leaves_out_unlisted(0));
    duals.assign(0, std::vector<DualEntry<double>>{{3, 0.5}});
    for (int sweep = 0; sweep < 3; ++sweep) idle.note(0, true, duals);
    CHECK(!idle.leaves_out(0) && !idle.leaves_out_unlisted(0));  // the set has changed once
    idle.note(0, true, duals);
    CHECK(!idle.leaves_out(0) && idle.leaves_out_unlisted(0));
    duals.assign(0, std::vector<DualEntry<double>>{{4, 0.5}});
    idle.note(0, true, duals);
    CHECK(!idle.leaves_out_unlisted(0));
    idle.begin(false);  // sweeps over some examples do not count
    for (int sweep = 0; sweep < 5; ++sweep) idle.note(0, false, duals);
    CHECK(!idle.leaves_out(0));
}

TEST(local_descent, sweeps_over_no_example_do_no_harm) {
    for (const int k : {5, 40}) {
        const Data data(Shape{.k = k});
        Holder<Dense> only(data, registered_machines[0], 1);
        const auto sweep = [&] {
            only.local.begin(true);
            const auto met = descend(only.local, 0, 1, 0, Observer{});
            only.local.end();
            return met;
        };
        for (int before = 0; before < 3; ++before) sweep();
        for (std::size_t i = 0; i < data.shape.n; ++i) only.local.idle().marks()[i] = 3;
        CHECK(sweep().second == 0 && sweep().second == 0);
        only.local.idle().take_back();
        double gap = sweep().first;
        CHECK(gap > 0);
        for (int after = 0; after < 500; ++after) {
            only.local.idle().take_back();
            gap = sweep().first;
        }
        CHECK(gap < 1e-3);
    }
}

TEST(local_descent, leaves_out_examples_at_rest_until_they_are_taken_back) {
    for (const int k : {5, 40}) {
        const Data data(Shape{.k = k});
        for (const Machine& machine : registered_machines) {
            context() = describe(machine, data.shape, false);
            Holder<Dense> only(data, machine, 1);
            const double n = double(data.shape.n);
            double fewest = n, visits = n, gap = 0;
            for (int sweep = 0; sweep < 3000; ++sweep) {
                if (sweep % 30 == 29) only.local.idle().take_back();
                only.local.begin(true);
                std::tie(gap, visits) = descend(only.local, 0, 1, 0, Observer{});
                only.local.end();
                fewest = std::min(fewest, visits);
                if (sweep % 30 == 29) {
                    CHECK(visits == n);
                    PassingCertificate<DenseWeights<double>> sums(only.rows.features(), k,
                                                                  only.problem.bias);
                    if (machine.zero_sum) only.weights.centre();
                    check_stream(only.problem, only.weights, only.duals, sums);
                    gap = sums.at(only.weights).gap();
                    if (gap <= 1e-3) break;
                }
            }
            CHECK(gap <= 1e-3);
            CHECK(fewest < n);
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
