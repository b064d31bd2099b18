// Several threads: the same optimum, and nothing for the thread sanitizer to find.
#include <atomic>
#include <thread>

#include "polymargin/parallel.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

TEST(threads, reach_the_optimum) {
    for (const int k : {5, 40}) {
        const Shape shape{.n = 300, .d = 10, .k = k, .C = 0.05};
        const Data data(shape);
        LinearOptions options = tight();
        options.threads = 2;
        options.goal.tol = 1e-5;
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                const auto problem = data.problem(rows, machine);
                check_optimal(problem, fit(problem, options), options.goal.tol);
            });
        }
    }
}

// Sparse rows, many classes: sweeps in rounds, which do not depend on the number of threads and
// close the gap about as fast as visits one by one.
TEST(threads, share_a_sweep) {
    const Shape shape{.n = 1200, .d = 600, .k = 40, .C = 0.5, .bias = false, .density = 0.05};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    LinearOptions options = tight();
    options.goal.max_iter = 20;
    options.shared_from = 0;
    for (const char* name : {"ww", "cs", "ovr"}) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        options.threads = 2;
        const Certificate two = fit(problem, options).outcome.certificate;
        options.threads = 3;
        const Certificate three = fit(problem, options).outcome.certificate;
        CHECK_CLOSE(three.primal, two.primal, 1e-12);
        CHECK_CLOSE(three.dual, two.dual, 1e-12);
        options.threads = 1;
        CHECK_AT_MOST(two.gap(), 1.5 * fit(problem, options).outcome.certificate.gap());
    }
}

TEST(threads, crew_runs_all_at_once) {
    for (const std::size_t threads : {1, 2, 4}) {
        Barrier barrier(threads);
        std::vector<int> rounds(threads);
        std::atomic<int> sum{0};
        run_crew(threads, [&](std::size_t t) {
            for (int round = 0; round < 100; ++round) {
                ++rounds[t];
                barrier.wait();
                for (const int other : rounds) sum += other == round + 1;
                barrier.wait();
            }
        });
        CHECK(sum == static_cast<int>(100 * threads * threads));
    }
}

TEST(threads, more_than_there_is_work) {
    const Shape shape{.n = 3, .k = 3};
    const Data data(shape);
    LinearOptions options = tight();
    options.threads = 16;
    for (const Machine& machine : registered_machines) {
        context() = machine.name;
        const Dense rows = data.rows<Dense>();
        const auto problem = data.problem(rows, machine);
        check_optimal(problem, fit(problem, options), options.goal.tol);
    }
}

// The core keeps no state of its own: fits in several threads do not meet.
TEST(threads, fits_side_by_side_do_not_meet) {
    const Shape shape{.n = 100};
    const Data data(shape);
    const Dense rows = data.rows<Dense>();
    const auto problem = data.problem(rows, machines::cs);
    const double expected = fit(problem, tight()).outcome.certificate.primal;
    std::atomic<int> equal{0};
    parallel_for(4, 8, [&](std::size_t) {
        equal += fit(problem, tight()).outcome.certificate.primal == expected;
    });
    CHECK(equal == 8);
}

TEST(threads, parallel_for_visits_every_part_once) {
    for (const int threads : {0, 1, 2, 5}) {
        std::vector<std::atomic<int>> visits(100);
        parallel_for(threads, visits.size(), [&](std::size_t part) { ++visits[part]; });
        for (const auto& count : visits) CHECK(count == 1);
        parallel_for(threads, 0, [](std::size_t) { throw Failure("there is no part"); });
    }
}

TEST(threads, parallel_for_passes_exceptions_on) {
    for (const int threads : {1, 3}) {
        bool caught = false;
        try {
            parallel_for(threads, 50, [](std::size_t part) {
                if (part % 7 == 3) throw Failure("part");
            });
        } catch (const Failure&) {
            caught = true;
        }
        CHECK(caught);
    }
}

}  // namespace
}  // namespace polymargin::testing
