// Who watches a fit sees every check and can end it.
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

TEST(observer, sees_records_that_make_sense) {
    const Shape shape;
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        std::vector<Record> records;
        const Observer observer{.on_check =
                                    [&](const Record& record) {
                                        records.push_back(record);
                                        return false;
                                    },
                                .interrupted = nullptr};
        const auto result = fit(data.problem(rows, machine), tight(), observer);
        CHECK(!records.empty());
        for (std::size_t at = 0; at < records.size(); ++at) {
            const Record& record = records[at];
            CHECK(record.gap >= -1e-9 && record.gap <= 1 + 1e-9);
            CHECK_CLOSE(record.primal - record.dual, record.gap * record.primal, 1e-9);
            CHECK(record.active >= 0 && std::size_t(record.active) <= shape.n);
            if (at == 0) continue;
            CHECK(record.epoch >= records[at - 1].epoch);
            CHECK(record.seconds >= records[at - 1].seconds);
        }
        CHECK(records.back().primal == result.outcome.certificate.primal);
        CHECK(records.back().dual == result.outcome.certificate.dual);
    }
}

TEST(observer, stops_at_a_check) {
    for (const int k : {5, 40}) {
        const Shape shape{.n = 200, .k = k, .C = 10};
        const Data data(shape);
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                int checks = 0;
                const Observer observer{.on_check = [&](const Record&) { return ++checks >= 2; },
                                        .interrupted = nullptr};
                LinearOptions options = tight();
                options.goal.tol = 1e-12;
                const auto problem = data.problem(rows, machine);
                const auto result = fit(problem, options, observer);
                CHECK(checks >= 2 && checks <= 4);
                const Certificate& certificate = result.outcome.certificate;
                CHECK_CLOSE(primal_of(problem, result.weights.packed()), certificate.primal, 1e-10);
                CHECK(certificate.primal >= certificate.dual);
                CHECK(feasible(problem, result.duals));
            });
        }
    }
}

// `interrupted` is asked while the solver is busy, far from any check.
TEST(observer, interrupts_a_long_fit) {
    const Shape shape{.n = 3000, .d = 30, .k = 40, .C = 100};
    const Data data(shape);
    const Dense rows = data.rows<Dense>();
    int asked = 0;
    const Observer observer{.on_check = nullptr, .interrupted = [&] { return ++asked >= 2; }};
    LinearOptions options = tight();
    options.goal.tol = 0;
    const auto problem = data.problem(rows, machines::ww);
    const auto result = fit(problem, options, observer);
    CHECK(asked == 2);
    CHECK(!result.outcome.converged);
    CHECK(result.outcome.n_iter < options.goal.max_iter);
    CHECK_CLOSE(primal_of(problem, result.weights.packed()), result.outcome.certificate.primal,
                1e-10);
    CHECK(feasible(problem, result.duals));
}

}  // namespace
}  // namespace polymargin::testing
