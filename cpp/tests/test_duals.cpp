// Storage of the dual variables: flat, as lists, in full.
#include <algorithm>

#include "synthetic.hpp"

namespace polymargin::testing {
namespace {

template <class T>
std::vector<T> row_of(const Duals<T>& duals, std::size_t i) {
    std::vector<T> row(duals.classes());
    std::int32_t last = -1;
    duals.for_each(i, [&](std::int32_t c, T value) {
        CHECK(c > last && value != 0);
        last = c;
        row[c] = value;
    });
    return row;
}

template <class T>
void keeps_what_it_is_given(std::size_t k) {
    constexpr std::size_t n = 9;
    Random random(k);
    Duals<T> duals(n, k);
    CHECK(duals.size() == n && duals.classes() == k && duals.nonzeros() == 0);
    std::vector<std::vector<T>> expected(n, std::vector<T>(k));
    std::vector<DualEntry<T>> entries;
    // Rows grow and shrink: between a list, the row in full, and nothing.
    for (int round = 0; round < 200; ++round) {
        const std::size_t i = random.below(n);
        const std::uint32_t density = random.below(5);
        entries.clear();
        for (std::size_t c = 0; c < k; ++c) {
            const bool used = random.below(4) < density;
            expected[i][c] = used ? T(1 + random.below(100)) : T(0);
            if (used) entries.push_back({static_cast<std::int32_t>(c), expected[i][c]});
        }
        if (duals.in_full(entries.size()) && random.below(2)) {
            std::vector<T> values = expected[i];
            values[k / 2] = -1;
            duals.assign_in_full(i, values.data(), static_cast<std::int32_t>(k / 2),
                                 expected[i][k / 2]);
        } else {
            duals.assign(i, entries);
        }
        duals.prefetch(i);
        std::vector<T> array(k);
        duals.put(i, array.data());
        CHECK(array == expected[i]);
        duals.take_out(i, array.data());
        CHECK(array == std::vector<T>(k));
        for (std::size_t at = 0; at < n; ++at) CHECK(row_of(duals, at) == expected[at]);
    }
    std::size_t nonzeros = 0;
    for (const auto& row : expected) {
        nonzeros += k - static_cast<std::size_t>(std::count(row.begin(), row.end(), T(0)));
    }
    CHECK(duals.nonzeros() == nonzeros);
    const Duals<T> moved = std::move(duals);
    for (std::size_t at = 0; at < n; ++at) CHECK(row_of(moved, at) == expected[at]);
}

TEST(duals, keep_what_they_are_given) {
    for (const std::size_t k : {2, 31, 32, 33, 64, 200}) {
        context() = "k=" + std::to_string(k);
        keeps_what_it_is_given<float>(k);
        keeps_what_it_is_given<double>(k);
    }
}

TEST(duals, clip_into_keeps_what_is_inside) {
    for (const int k : {5, 40}) {
        const Shape shape{.k = k};
        const Data data(shape);
        const Sparse rows = data.rows<Sparse>();
        for (const Machine& machine : registered_machines) {
            context() = describe(machine, shape, true);
            Data wider = data;
            for (double& C : wider.upper) C *= 2;
            const auto result = fit(data.problem(rows, machine), tight());
            Duals<double> copy(shape.n, k);
            clip_into(result.duals, wider.problem(rows, machine), copy);
            for (std::size_t i = 0; i < shape.n; ++i) {
                CHECK(row_of(copy, i) == row_of(result.duals, i));
            }
        }
    }
}

TEST(duals, clip_into_cuts_what_is_outside) {
    for (const int k : {5, 40}) {
        const Shape shape{.k = k};
        const Data data(shape);
        for (const Machine& machine : registered_machines) {
            for_both_kinds(data, [&]<class Rows>(const Rows& rows) {
                context() = describe(machine, shape, Rows::is_sparse);
                Data narrower = data;
                for (double& C : narrower.upper) C *= 0.25;
                const auto result = fit(data.problem(rows, machine), tight());
                const auto problem = narrower.problem(rows, machine);
                CHECK(!feasible(problem, result.duals));
                Duals<typename Rows::value_type> cut(shape.n, k);
                clip_into(result.duals, problem, cut);
                CHECK(feasible(problem, cut));
            });
        }
    }
}

}  // namespace
}  // namespace polymargin::testing
