// Very many classes: weights in lists, and groups of examples that are solved together.
#include <cmath>
#include <numeric>

#include "polymargin/linear/class_search.hpp"
#include "polymargin/linear/group/solve.hpp"
#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

// The machines whose visits can do without the mean over all classes, and whose classes share
// something.
constexpr const char* names[] = {"ww", "cs"};

LinearOptions searching(double tol) {
    LinearOptions options = tight();
    options.goal.tol = tol;
    options.searched_from = 0;
    options.shared_from = 0;
    return options;
}

TEST(search, reaches_the_optimum_of_dense_weights) {
    for (const int k : {40, 150}) {
        for (const double C : {0.05, 0.5}) {
            const Shape shape{.n = 80, .d = 60, .k = k, .C = C, .density = 0.2};
            const Data data(shape);
            for (const char* name : names) {
                const Machine& machine = *find_machine(name);
                for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                    context() = describe(machine, shape, Rows::is_sparse);
                    const auto problem = data.problem(rows, machine);
                    const double tol = 1e-4;
                    const auto found = fit(problem, searching(tol));
                    check_optimal(problem, found, tol);
                    LinearOptions plain = searching(tol);
                    plain.searched_from = 1e300;
                    const auto other = fit(problem, plain);
                    CHECK_CLOSE(found.outcome.certificate.primal, other.outcome.certificate.primal,
                                2 * tol);
                });
            }
        }
    }
}

TEST(search, does_not_depend_on_the_number_of_threads) {
    const Shape shape{.n = 500, .d = 300, .k = 40, .C = 0.1, .bias = false, .density = 0.03};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const char* name : names) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        LinearOptions options = searching(1e-2);
        const auto one = fit(problem, options);
        CHECK(one.outcome.converged);
        for (const int threads : {2, 3}) {
            options.threads = threads;
            const auto found = fit(problem, options);
            CHECK(found.weights.packed() == one.weights.packed());
        }
    }
}

// Rows with a feature twice, rows without any, and weights of which some are full rows.
TEST(search, a_group_reads_and_writes_weights_as_its_examples_do) {
    const int k = 150;
    const Shape shape{.n = 40, .d = 30, .k = k, .zero_rows = 3, .density = 0.4};
    Data data(shape);
    for (std::size_t at = 1; at < data.indices.size(); at += 7) {
        data.indices[at] = data.indices[at - 1];
    }
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ww);
    auto weights = problem.weights<SparseWeights<double>>();
    Random random(3);
    std::vector<std::vector<Change<double>>> changes(shape.n);
    for (auto& of_example : changes) {
        for (std::int32_t c = 0; c < k; ++c) {
            if (random.below(8) == 0) of_example.push_back({c, random.below(100) / 50.0 - 1, 0});
        }
    }
    const auto change = [&](std::size_t e) { return std::span<const Change<double>>(changes[e]); };
    std::vector<std::uint32_t> examples(shape.n);
    std::iota(examples.begin(), examples.end(), 0u);
    GroupColumns<double> columns(rows.features());
    columns.gather(rows, examples);
    for (int round = 0; round < 2; ++round) {  // from nothing, then to what is there
        auto one_by_one = weights.copy();
        for (std::size_t e = 0; e < shape.n; ++e) {
            one_by_one.add(rows.row(e, nullptr), change(e), one_by_one.whole());
        }
        weights.add(columns, change, shape.n, 2);
        const auto found = weights.packed(), wanted = one_by_one.packed();
        for (std::size_t at = 0; at < wanted.size(); ++at) {
            CHECK(std::abs(found[at] - wanted[at]) < 1e-12);
        }
    }
    GroupPairs pairs(k);
    pairs.clear();
    for (std::size_t e = 0; e < shape.n; ++e) {
        for (std::int32_t c = static_cast<std::int32_t>(e % 5); c < k; c += 5) pairs.add(c);
        pairs.end_example();
    }
    std::vector<double> f(pairs.size()), all(simd::padded<double>(k));
    weights.scores_of(columns, pairs, f, 2);
    for (std::size_t e = 0; e < shape.n; ++e) {
        weights.scores(rows.row(e, nullptr), all.data());
        for (std::size_t p = pairs.begin(e); p < pairs.end(e); ++p) {
            CHECK(std::abs(f[p] - all[pairs.c(p)]) < 1e-12);
        }
    }
}

// More examples than are searched at a time, by one thread and by three.
TEST(search, scores_of_listed_classes_are_kept_whatever_the_block) {
    const int k = 150;
    const Shape shape{.n = 4500, .d = 30, .k = k, .density = 0.1};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    const auto problem = data.problem(rows, machines::ww);
    auto weights = problem.weights<SparseWeights<double>>();
    Random random(3);
    std::vector<Change<double>> changes;
    for (std::size_t i = 0; i < 200; ++i) {
        changes.clear();
        for (std::int32_t c = 0; c < k; ++c) {
            if (random.below(40) == 0) changes.push_back({c, random.below(100) / 50.0 - 1, 0});
        }
        weights.add(rows.row(i, nullptr), std::span<const Change<double>>(changes),
                    weights.whole());
    }
    std::vector<std::uint32_t> examples(shape.n);
    std::iota(examples.begin(), examples.end(), 0u);
    random.shuffle(std::span(examples));
    double gap = -1;
    for (const int threads : {1, 3}) {
        Duals<double> duals(shape.n, k);
        for (std::size_t i = 0; i < shape.n; i += 3) {
            const DualEntry<double> entries[] = {{static_cast<std::int32_t>(i % k), 0.01}};
            duals.assign(i, entries);
        }
        ClassSearch<Sparse, SparseWeights<double>> search(problem, duals, weights, threads);
        const Searched found = search(examples, 0.05);
        CHECK(gap < 0 || found.gap.value() == gap);
        gap = found.gap.value();
        std::vector<double> f(simd::padded<double>(k));
        for (std::size_t e = 0; e < shape.n; ++e) {
            const std::uint32_t i = examples[e];
            weights.scores(rows.row(i, nullptr), f.data());
            const double* score = search.scores(e);
            bool has_own = false;
            duals.for_each_listed(i, [&](std::int32_t c, double) {
                CHECK(std::abs(*score++ - f[c]) < 1e-12);
                has_own |= c == problem.labels[i];
            });
            if (!has_own) CHECK(std::abs(*score - f[problem.labels[i]]) < 1e-12);
        }
    }
}

TEST(search, pairs_of_a_class_are_neighbours) {
    GroupPairs pairs(10);
    for (int round = 0; round < 2; ++round) {
        pairs.clear();
        for (const auto& classes : {std::vector{1, 3, 9}, {}, {3, 4}, {9, 1}}) {
            for (const int c : classes) pairs.add(c);
            pairs.end_example();
        }
        pairs.chain();
        std::vector<std::int32_t> by_slot(pairs.size(), -1);
        for (std::size_t p = 0; p < pairs.size(); ++p) by_slot[pairs.slot(p)] = pairs.c(p);
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const auto chain = pairs.chain(p);
            CHECK(chain.end - chain.begin == (pairs.c(p) == 4 ? 1u : 2u));
            for (auto s = chain.begin; s < chain.end; ++s) CHECK(by_slot[s] == pairs.c(p));
        }
    }
}

TEST(search, a_group_is_solved_inside_its_bounds) {
    const Shape shape{.n = 60, .d = 20, .k = 50, .C = 0.3, .density = 0.5};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    std::vector<std::uint32_t> examples(shape.n);
    std::iota(examples.begin(), examples.end(), 0u);
    for (const char* name : names) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        Duals<double> duals(shape.n, shape.k);
        for (std::size_t i = 0; i < shape.n; ++i) {
            std::vector<DualEntry<double>> listed;
            for (std::int32_t c = 0; c < shape.k; ++c) {
                const bool is_own = c == data.labels[i];
                if (is_own ? problem.machine.has_own : c % (i % 3 + 1) == 0) {
                    listed.push_back({c, 0});
                }
            }
            duals.assign(i, listed);
        }
        const auto norms = working_norms(problem);
        ExampleGroup<Sparse> group(problem, norms, duals);
        BlockSolver<double> solver(BlockChoice{});
        Random random(1);
        double first = 0, last = 0;  // gaps
        for (int round = 0; round < 5; ++round) {
            auto weights = problem.weights<SparseWeights<double>>();
            weights.rebuild(problem, duals, 1);
            group.gather(examples, 1);
            weights.scores_of(group.columns(), group.pairs(), group.scores(), 1);
            last = 0;
            group.solve(solver, random, 0, [&](std::uint32_t, double gap) { last += gap; });
            if (round == 0) first = last;
            group.store();
            for (std::size_t i = 0; i < shape.n; ++i) {
                double sum = 0;
                duals.for_each(i, [&](std::int32_t, double beta) {
                    CHECK(beta >= 0 && beta <= shape.C);
                    sum += beta;
                });
                CHECK(!problem.machine.simplex() || sum <= shape.C * (1 + 1e-12));
            }
        }
        CHECK(last < 0.05 * first);
    }
}

TEST(search, goes_on_from_other_dual_variables) {
    const Shape shape{.n = 200, .d = 30, .k = 60, .C = 0.1, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const char* name : names) {
        context() = name;
        const auto problem = data.problem(rows, *find_machine(name));
        const LinearOptions options = searching(1e-6);
        auto found = fit(problem, options);
        found.weights = problem.weights<Store<double>>();
        LinearOptions looser = options;
        looser.goal.tol = 1e-5;
        const LinearOutcome again = train(problem, looser, found.duals, found.weights, {});
        CHECK(again.converged);
        CHECK(again.n_iter <= 1);
    }
}

TEST(search, can_be_stopped_at_any_time) {
    const Shape shape{.n = 400, .d = 50, .k = 60, .C = 1, .density = 0.3};
    const Data data(shape);
    const Sparse rows = data.rows<Sparse>();
    for (const int checks : {0, 1, 3}) {
        const auto problem = data.problem(rows, machines::ww);
        int seen = 0;
        const Observer observer{.on_check = [&](const Record&) { return ++seen > checks; },
                                .interrupted = {}};
        const auto found = fit(problem, searching(1e-9), observer);
        CHECK(!found.outcome.converged);
        CHECK(found.outcome.certificate.primal >= found.outcome.certificate.dual);
        CHECK_CLOSE(primal_of(problem, found.weights.packed()), found.outcome.certificate.primal,
                    1e-9);
    }
}

// Random labels: most classes lie within the margin of every example, but a simplex holds few.
TEST(search, foresees_what_a_simplex_will_hold) {
    const Shape shape{.n = 600, .d = 300, .k = 200, .C = 0.1, .density = 0.05};
    Data data(shape);
    Random random(5);
    for (auto& label : data.labels) label = static_cast<std::int32_t>(random.below(shape.k));
    const Sparse rows = data.rows<Sparse>();
    LinearOptions options = searching(1e-3);
    options.memory = 3e5;
    CHECK(fit(data.problem(rows, machines::cs), options).outcome.converged);
}

}  // namespace
}  // namespace polymargin::testing
