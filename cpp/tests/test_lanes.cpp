// Classes dealt to several holders: each knows its own, together they certify the whole.
#include "polymargin/linear/dealt_certificate.hpp"
#include "polymargin/parallel.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

TEST(lanes, find_classes) {
    const Lanes all(5), range(9, 3, 6), list(9, {1, 4, 8});
    CHECK(all.size() == 5 && all.lane_of(4) == 4 && all.class_of(2) == 2);
    CHECK(range.size() == 3 && range.classes() == 9);
    CHECK(range.lane_of(2) < 0 && range.lane_of(3) == 0 && range.lane_of(6) < 0);
    CHECK(list.lane_of(4) == 1 && list.lane_of(5) < 0 && list.class_of(2) == 8);
    CHECK(range.part(1, 3).class_of(0) == 4 && range.part(1, 3).size() == 2);
    CHECK(list.part(1, 3).lane_of(8) == 1 && list.part(1, 3).lane_of(1) < 0);
}

// Holders that are threads; what they add up lies on a table between them.
class Table {
public:
    explicit Table(std::size_t holders) : holders_(holders), barrier_(holders) {}

    template <class Element>
    void add_up(std::size_t me, std::span<Element> mine) {
        static std::vector<std::vector<Element>> laid;
        if (me == 0) laid.assign(holders_, {});
        barrier_.wait();
        laid[me].assign(mine.begin(), mine.end());
        barrier_.wait();
        for (std::size_t e = 0; e < mine.size(); ++e) {
            mine[e] = laid[0][e];
            for (std::size_t h = 1; h < holders_; ++h) add(mine[e], laid[h][e]);
        }
        barrier_.wait();
    }

private:
    static void add(double& to, double part) { to += part; }
    static void add(auto& to, const auto& part) { to.add(part); }

    std::size_t holders_;
    Barrier barrier_;
};

struct Together {
    static constexpr std::size_t block = 7;
    Table& table;
    std::size_t me;

    template <class Element>
    void operator()(std::span<Element> mine) const {
        table.add_up(me, mine);
    }
};

TEST(lanes, holders_of_classes_certify_together) {
    constexpr std::size_t holders = 3;
    for (const int k : {5, 40}) {
        const Shape shape{.n = 60, .d = 8, .k = k};
        const Data data(shape);
        LinearOptions options = tight();
        options.goal.max_iter = 2;
        for (const bool in_turn : {false, true}) {
            for (const Machine& machine : registered_machines) {
                for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                    context() = describe(machine, shape, Rows::is_sparse);
                    const auto problem = data.problem(rows, machine);
                    const auto result = fit(problem, options);
                    const Certificate& whole = result.outcome.certificate;
                    Table table(holders);
                    std::vector<Certificate> parts(holders);
                    run_crew(holders, [&](std::size_t h) {
                        std::vector<std::int32_t> mine;
                        for (std::int32_t c = 0; c < k; ++c) {
                            if (c % holders == h) mine.push_back(c);
                        }
                        const auto at = [&](std::size_t part) { return int(k * part / holders); };
                        const Lanes lanes = in_turn ? Lanes(k, mine) : Lanes(k, at(h), at(h + 1));
                        Store<typename Rows::value_type> weights(shape.d, lanes, shape.bias);
                        parts[h] =
                            certify_together(problem, result.duals, weights, 1, Together{table, h});
                    });
                    for (const Certificate& part : parts) {
                        CHECK_CLOSE(part.primal, whole.primal, 1e-10);
                        CHECK_CLOSE(part.dual, whole.dual, 1e-10);
                        CHECK_CLOSE(part.violation, whole.violation, 1e-10);
                    }
                });
            }
        }
    }
}

// Those a holder has: all of the examples of its classes, and its columns of all others.
template <class T>
Duals<T> held_duals(const Duals<T>& duals, std::span<const std::int32_t> labels,
                    const Lanes& lanes) {
    Duals<T> held(duals.size(), duals.classes());
    std::vector<DualEntry<T>> entries;
    for (std::size_t i = 0; i < duals.size(); ++i) {
        entries.clear();
        const bool is_own = lanes.lane_of(labels[i]) >= 0;
        duals.for_each(i, [&](std::int32_t c, T value) {
            if (is_own || lanes.lane_of(c) >= 0) entries.push_back({c, value});
        });
        held.assign(i, entries);
    }
    return held;
}

TEST(lanes, holders_of_classes_need_no_more_than_the_own_scores) {
    constexpr std::int32_t holders = 3;
    for (const int k : {5, 40}) {
        const Shape shape{.n = 300, .d = 8, .k = k};
        const Data data(shape);
        LinearOptions options = tight();
        options.goal.max_iter = 2;
        for (const Machine& machine : registered_machines) {
            if (machine.simplex() || machine.zero_sum) continue;
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                using T = typename Rows::value_type;
                context() = describe(machine, shape, Rows::is_sparse);
                const auto problem = data.problem(rows, machine);
                const auto result = fit(problem, options);
                std::vector<double> own_scores(shape.n);
                std::vector<DenseWeights<T>> weights;
                std::vector<Duals<T>> duals;
                double norm_U = 0, norm_W = 0;
                for (std::int32_t h = 0; h < holders; ++h) {
                    std::vector<std::int32_t> mine;
                    for (std::int32_t c = h; c < k; c += holders) mine.push_back(c);
                    const Lanes lanes(k, mine);
                    duals.push_back(held_duals(result.duals, problem.labels, lanes));
                    weights.emplace_back(shape.d, lanes, shape.bias);
                    norm_W += weights[h].rebuild(problem, duals[h], 1);
                    norm_U += weights[h].squared_norm(false);
                    find_own_scores(problem, weights[h], std::span<double>(own_scores));
                }
                CertificateSums sums;
                for (std::int32_t h = 0; h < holders; ++h) {
                    sums.add(sum_examples(problem, duals[h], weights[h], 0, problem.size(),
                                          KnownOwnScores(own_scores)));
                }
                const Certificate now = sums.certificate(norm_U, norm_W);
                const Certificate& whole = result.outcome.certificate;
                CHECK_CLOSE(now.primal, whole.primal, 1e-10);
                CHECK_CLOSE(now.dual, whole.dual, 1e-10);
                CHECK_CLOSE(now.violation, whole.violation, 1e-10);
            });
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
