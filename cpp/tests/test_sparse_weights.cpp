// What the sparse store of weights is made of, at every SIMD level: marked classes, rows that
// become full, sums of full rows.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "harness.hpp"
#include "polymargin/linear/weights/feature_lists.hpp"
#include "polymargin/linear/weights/feature_row.hpp"
#include "polymargin/linear/weights/full_terms.hpp"
#include "polymargin/linear/weights/marks.hpp"
#include "polymargin/linear/weights/sparse.hpp"
#include "polymargin/random.hpp"

namespace polymargin::testing {
namespace {

TEST(sparse_weights, marked_classes_are_found_wherever_they_are) {
    Random random(1);
    for (const int k : {1, 31, 32, 33, 1000}) {
        for (const std::size_t length : {0, 1, 15, 16, 17, 200}) {
            Marks marks(k);
            std::vector<std::int32_t> place_of(k, -1), marked;
            for (int at = 0; at < std::min(k, 20); ++at) {
                const auto c = static_cast<std::int32_t>(random.below(k));
                if (place_of[c] >= 0) continue;
                place_of[c] = static_cast<std::int32_t>(marked.size());
                marks.set(c, marked.size());
                marked.push_back(c);
            }
            std::vector<std::int32_t> classes(length);
            for (auto& c : classes) c = static_cast<std::int32_t>(random.below(k));
            std::vector<std::int32_t> found(length, -1);
            marks.for_each(classes.data(), length, [&](std::size_t e, std::size_t place) {
                found[e] = static_cast<std::int32_t>(place);
            });
            for (std::size_t e = 0; e < length; ++e) CHECK(found[e] == place_of[classes[e]]);
            for (const std::int32_t c : marked) marks.clear(c);
            marks.for_each(classes.data(), length, [&](std::size_t, std::size_t) { CHECK(false); });
        }
    }
}

TEST(sparse_weights, a_row_keeps_its_weights_as_it_grows) {
    constexpr std::size_t k = 100, most = 20, stride = 104;
    FeatureRow<float> row;
    for (std::size_t c = 0; c < 50; ++c) {
        row.append(static_cast<std::int32_t>(2 * c), static_cast<float>(c + 1), most, stride);
        CHECK(row.is_full() == (c >= most));
        std::vector<float> seen(k);
        row.for_each(k, [&](std::size_t at, float value) { seen[at] = value; });
        row.copy(stride).for_each(k,
                                  [&](std::size_t at, float value) { CHECK(seen[at] == value); });
        for (std::size_t at = 0; at <= c; ++at) CHECK(seen[2 * at] == static_cast<float>(at + 1));
        CHECK(std::accumulate(seen.begin(), seen.end(), 0.0f) ==
              static_cast<float>((c + 1) * (c + 2) / 2));
    }
    CHECK(row.is_full());
    row.clear(stride);
    row.for_each(k, [&](std::size_t, float value) { CHECK(value == 0); });
}

// A row of one feature.
struct Unit {
    std::size_t j;
    std::size_t size() const { return 1; }
    std::size_t index(std::size_t) const { return j; }
    double value(std::size_t) const { return 1; }
};

TEST(sparse_weights, lists_give_the_store_back) {
    constexpr std::size_t d = 30;
    Random random(3);
    for (const int k : {5, 100}) {  // full rows alone; lists, some of which become full
        for (const bool bias : {false, true}) {
            SparseWeights<double> weights(d, k, bias);
            for (int step = 0; step < 300; ++step) {
                const Change<double> change{static_cast<std::int32_t>(random.below(k)),
                                            double(random.below(9)) - 4, 0};
                const std::size_t j = random.below(d) * random.below(d) / d;
                weights.add(Unit{j}, std::span(&change, 1), weights.whole());
            }
            const FeatureLists<double> lists = weights.lists();
            const FeatureListsView<double> view{lists.ends, lists.classes, lists.values};
            CHECK(view.are_of(d + bias, k));
            CHECK(std::ranges::count(lists.values, 0.0) == 0);
            SparseWeights<double> other(d, k, bias);
            CHECK(other.unpack(view));
            CHECK(other.packed() == weights.packed());
            SparseWeights<double> narrow(d - 1, k, bias), few(d, 2, bias);
            CHECK(!narrow.unpack(view));
            CHECK(!few.unpack(view));
        }
    }
}

template <class T, class V>
void check_full_sums() {
    Random random(2);
    for (const std::size_t k : {1, 7, 8, 9, 100, 257, 600}) {
        const std::size_t size = simd::padded<V>(k), stride = simd::padded<T>(k);
        std::vector<std::vector<T>> rows(5, std::vector<T>(std::max(size, stride)));
        std::vector<FullTerm<T, V>> terms;
        for (auto& row : rows) {
            for (T& value : row) value = T(random.below(100)) / 8;
            terms.push_back({row.data(), V(random.below(10))});
        }
        std::vector<V> f(size, V(1));
        add_full(std::span<const FullTerm<T, V>>(terms), size, f.data());
        for (std::size_t c = 0; c < k; ++c) {
            V sum = 1;
            for (const auto& [u, x] : terms) sum += x * V(u[c]);
            CHECK(f[c] == sum);  // all of them can be represented
        }
    }
}

TEST(sparse_weights, full_rows_add_up) {
    check_full_sums<float, float>();
    check_full_sums<float, double>();
    check_full_sums<double, double>();
}

}  // namespace
}  // namespace polymargin::testing
