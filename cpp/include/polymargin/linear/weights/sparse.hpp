// The weights where there are very many classes: for each feature a list of the classes in which
// it counts, or a full row where these are many (feature_row.hpp). Memory follows the weights that
// are not zero.
//
// Scores of many examples are computed together, so that the full rows of frequent features are
// read from a near cache: tile by tile of classes for all of them, then the lists of each.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/block/change.hpp"
#include "polymargin/feasible.hpp"
#include "polymargin/lanes.hpp"
#include "polymargin/linear/group/columns.hpp"
#include "polymargin/linear/group/pairs.hpp"
#include "polymargin/linear/weights/alphas_by_class.hpp"
#include "polymargin/linear/weights/column_sum.hpp"
#include "polymargin/linear/weights/feature_lists.hpp"
#include "polymargin/linear/weights/feature_row.hpp"
#include "polymargin/linear/weights/full_terms.hpp"
#include "polymargin/linear/weights/list_writer.hpp"
#include "polymargin/linear/weights/marks.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/rows.hpp"
#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

template <class T>
class SparseWeights {
public:
    using value_type = T;
    using InDouble = SparseWeights<double>;

    // The features of one of `count` threads, neighbours together: their rows share cache lines.
    struct Slice {
        std::size_t s, count;
        bool holds(std::size_t j) const { return count == 1 || (j >> 2) % count == s; }
    };

    using Scratch = Marks;

    SparseWeights(std::size_t features, const Lanes& lanes, bool bias)
        : lanes_(lanes),
          classes_(static_cast<std::size_t>(lanes.size())),
          stride_(simd::padded<T>(classes_)),
          longest_(classes_ <= few ? 0 : static_cast<std::size_t>(longest_share * classes_)),
          bias_(bias),
          rows_(features + bias),
          writers_(most_slices) {
        if (bias_) rows_.back().fill_up(stride_);
    }

    SparseWeights copy() const {
        SparseWeights other(rows_.size() - bias_, lanes_, bias_);
        for (std::size_t j = 0; j < rows_.size(); ++j) other.rows_[j] = rows_[j].copy(stride_);
        return other;
    }

    const Lanes& lanes() const { return lanes_; }
    Scratch scratch() const { return Marks(lanes_.size()); }

    // --- scores

    template <class Row>
    void scores(const Row row, T* f) const {
        sum(row, f);
    }
    template <class Row>
    void scores_in_double(const Row row, double* f) const {
        sum(row, f);
    }

    // Of some examples, in two steps: what full rows say of all of them, those of the e-th at
    // F + e stride(), and what lists add to one, whose scores are then in a near cache.
    template <class Rows, class V>
    class Together {
    public:
        Together(const SparseWeights& weights, const Rows& rows)
            : weights_(weights), rows_(rows), scratch_(rows.scratch_size()) {}

        void full(std::span<const std::uint32_t> examples, V* F) {
            terms_.clear();
            ends_.clear();
            for (const std::uint32_t i : examples) {
                if (const T* start = weights_.constant()) terms_.push_back({start, V(1)});
                const auto row = rows_.row(i, scratch_.data());
                for (std::size_t p = 0; p < row.size(); ++p) {
                    weights_.prefetch_place(row, p);
                    const FeatureRow<T>& u = weights_.rows_[row.index(p)];
                    if (u.is_full()) terms_.push_back({u.values(), V(row.value(p))});
                }
                ends_.push_back(terms_.size());
            }
            for (std::size_t at = 0; at < stride(); at += tile_lanes<V>) {
                std::size_t begin = 0;
                for (std::size_t e = 0; e < ends_.size(); ++e) {
                    const std::span<const FullTerm<T, V>> terms(terms_.data() + begin,
                                                                ends_[e] - begin);
                    full_tile<false>(terms, at, stride(), F + e * stride());
                    begin = ends_[e];
                }
            }
        }

        void lists(std::uint32_t i, V* f) {
            const auto row = rows_.row(i, scratch_.data());
            for (std::size_t p = 0; p < row.size(); ++p) {
                weights_.prefetch_row(row, p);
                weights_.add_list(row.index(p), V(row.value(p)), f);
            }
        }

        // Lanes from one example to the next.
        std::size_t stride() const { return simd::padded<V>(weights_.classes_); }

    private:
        const SparseWeights& weights_;
        const Rows& rows_;
        std::vector<T> scratch_;
        std::vector<FullTerm<T, V>> terms_;
        std::vector<std::size_t> ends_;  // of the terms of each example
    };

    template <class Row>
    void scores_of(const Row row, std::span<const std::int32_t> classes, T* f,
                   Scratch& marks) const {
        const T* start = constant();
        const std::size_t count = classes.size();
        for (std::size_t at = 0; at < count; ++at) {
            f[at] = start ? start[classes[at]] : T(0);
            marks.set(classes[at], at);
        }
        for (std::size_t p = 0; p < row.size(); ++p) {
            prefetch_row(row, p);
            if (const T* ahead = full_row(row, p + 2)) {
                for (const std::int32_t c : classes) __builtin_prefetch(ahead + c);
            }
            const FeatureRow<T>& u = rows_[row.index(p)];
            const T x = row.value(p);
            const T* values = u.values();
            if (u.is_full()) {
                for (std::size_t at = 0; at < count; ++at) f[at] += x * values[classes[at]];
            } else {
                marks.for_each(u.classes(), u.size(),
                               [&](std::size_t e, std::size_t at) { f[at] += x * values[e]; });
            }
        }
        for (const std::int32_t c : classes) marks.clear(c);
    }

    // Of the listed classes of a group of examples, by pair. Shares of the features add up in
    // order, whatever the number of threads.
    void scores_of(const GroupColumns<T>& columns, const GroupPairs& pairs, std::span<T> f,
                   int threads) const {
        std::vector<T> sums(group_shares * f.size());
        parallel_for(threads, group_shares, [&](std::size_t share) {
            T* sum = sums.data() + share * f.size();
            std::vector<T> spread(classes_);
            Marks marks = scratch();
            const std::size_t end = first_of(share + 1, columns);
            for (std::size_t l = first_of(share, columns); l < end; ++l) {
                prefetch_columns(columns, l, end);
                const FeatureRow<T>& u = rows_[columns.feature(l)];
                const auto column = columns.column(l);
                if (!u.is_full() && column.size() <= few_entries) {
                    for (const auto& [e, x] : column) {
                        add_marked(u, x, pairs.classes(e), sum + pairs.begin(e), marks);
                    }
                    continue;
                }
                if (!u.is_full()) u.for_each(0, [&](std::size_t c, T value) { spread[c] = value; });
                const T* values = u.is_full() ? u.values() : spread.data();
                for (const auto& [e, x] : column) {
                    T* to = sum + pairs.begin(e);
                    for (const std::int32_t c : pairs.classes(e)) *to++ += x * values[c];
                }
                if (!u.is_full()) u.for_each(0, [&](std::size_t c, T) { spread[c] = 0; });
            }
        });
        const T* start = constant();
        for (std::size_t p = 0; p < f.size(); ++p) {
            f[p] = start ? start[pairs.c(p)] : T(0);
            for (std::size_t share = 0; share < group_shares; ++share) {
                f[p] += sums[share * f.size() + p];
            }
        }
    }

    // --- updates

    // Of a group of examples; changes(e) are those of one.
    template <class Changes>
    void add(const GroupColumns<T>& columns, const Changes& changes, std::size_t examples,
             int threads) {
        parallel_for(threads, group_shares, [&](std::size_t share) {
            ListWriter<T> list(classes_);
            Writer& to = writer({share, group_shares});
            const std::size_t end = first_of(share + 1, columns);
            for (std::size_t l = first_of(share, columns); l < end; ++l) {
                prefetch_columns(columns, l, end);
                FeatureRow<T>& u = rows_[columns.feature(l)];
                const auto column = columns.column(l);
                if (!u.is_full() && column.size() <= few_entries) {
                    for (const auto& [e, x] : column) {
                        to.begin(changes(e));
                        add_to(u, x, changes(e), to);
                        to.end(changes(e));
                    }
                    continue;
                }
                list.open(u);
                for (const auto& [e, x] : column) {
                    for (const Change<T>& change : changes(e)) {
                        list.add(change.c, x * change.delta, longest_, stride_);
                    }
                }
                list.close();
            }
        });
        if (!bias_) return;
        for (std::size_t e = 0; e < examples; ++e) {
            for (const Change<T>& change : changes(e)) {
                rows_.back().values()[change.c] += change.delta;
            }
        }
    }

    template <class Row>
    void add(const Row row, const T* delta, Slice slice) {
        auto& changes = writer(slice).changes;
        changes.clear();
        for (std::size_t c = 0; c < classes_; ++c) {
            if (delta[c] != 0) changes.push_back({static_cast<std::int32_t>(c), delta[c], T(0)});
        }
        add(row, std::span<const Change<T>>(changes), slice);
    }

    template <class Row>
    void add(const Row row, std::span<const Change<T>> changes, Slice slice) {
        Writer& to = writer(slice);
        to.begin(changes);
        for (std::size_t p = 0; p < row.size(); ++p) {
            const std::size_t j = row.index(p);
            prefetch_row(row, p, slice);
            if (slice.holds(j)) add_to(rows_[j], row.value(p), changes, to);
        }
        if (bias_ && slice.holds(rows_.size() - 1)) add_to(rows_.back(), T(1), changes, to);
        to.end(changes);
    }

    std::size_t slices() const { return most_slices; }
    Slice slice(std::size_t s, std::size_t count) const { return {s, count}; }
    Slice whole() const { return {0, 1}; }

    // --- the whole

    void scale(T factor) {
        for (FeatureRow<T>& row : rows_) {
            const std::size_t count = row.is_full() ? classes_ : row.size();
            for (std::size_t e = 0; e < count; ++e) row.values()[e] *= factor;
        }
    }

    double squared_norm(bool centred) const {
        CompensatedSum norm;
        for (const FeatureRow<T>& row : rows_) {
            double square = 0, sum = 0;
            row.for_each(classes_, [&](std::size_t, T value) {
                square += double(value) * value;
                sum += value;
            });
            norm += centred ? square - sum * sum / static_cast<double>(classes_) : square;
        }
        return norm.value();
    }

    // Fills the rows whose mean is not zero.
    void centre() {
        for (FeatureRow<T>& row : rows_) {
            double sum = 0;
            row.for_each(classes_, [&](std::size_t, T value) { sum += value; });
            const T mean = static_cast<T>(sum / static_cast<double>(classes_));
            if (mean == 0) continue;
            row.fill_up(stride_);
            for (std::size_t c = 0; c < classes_; ++c) row.values()[c] -= mean;
        }
    }

    // One class after the other, so that only one of them is there in double.
    template <class Problem>
    double rebuild(const Problem& problem, const Duals<T>& duals, int threads) {
        for (FeatureRow<T>& row : rows_) row.clear(stride_);
        const std::size_t entries = problem.machine.zero_sum
                                        ? problem.size() * static_cast<std::size_t>(problem.k)
                                        : duals.nonzeros() + problem.size();
        const std::size_t passes = std::clamp<std::size_t>(entries / most_alphas, 1, classes_);
        CompensatedSum norm;
        for (std::size_t pass = 0; pass < passes; ++pass) {
            const std::size_t first = classes_ * pass / passes;
            const std::size_t last = classes_ * (pass + 1) / passes;
            const AlphasByClass alphas(problem, duals,
                                       lanes_.part(static_cast<int>(first),
                                                   static_cast<int>(last)));
            norm += rebuild(problem, alphas, first, last, threads);
        }
        return norm.value();
    }

    template <class Problem, class V>
    void accumulate(const Problem& part, const Duals<V>& duals)
        requires std::same_as<T, double>
    {
        std::vector<double> dense(part.k);
        std::vector<V> scratch(part.rows.scratch_size());
        std::vector<Change<T>> changes;
        for (std::size_t i = 0; i < part.size(); ++i) {
            changes.clear();
            for_each_alpha(part.machine, duals, i, part.labels[i], part.upper[i], lanes_, dense,
                           [&](int lane, double a) {
                               if (a != 0) changes.push_back({lane, a, T(0)});
                           });
            if (changes.empty()) continue;
            add(part.rows.row(i, scratch.data()), std::span<const Change<T>>(changes), whole());
        }
    }

    // Calls body(class, feature, weight) for the weights that are not 0, features ascending.
    template <class Body>
    void for_each(Body&& body) const {
        for (std::size_t j = 0; j < features(); ++j) visit(j, body);
    }
    // The same, and gives up each row after it.
    template <class Body>
    void for_each_once(Body&& body) && {
        for (std::size_t j = 0; j < features(); ++j) {
            visit(j, body);
            rows_[j] = {};
        }
    }
    // The weights of the constant feature; null without one.
    const T* constant() const { return bias_ ? rows_.back().values() : nullptr; }
    std::size_t features() const { return rows_.size() - bias_; }

    // All values by feature, the bias last, the zeros included.
    std::vector<T> packed() const {
        std::vector<T> values(rows_.size() * classes_);
        for (std::size_t j = 0; j < rows_.size(); ++j) {
            rows_[j].for_each(classes_,
                              [&](std::size_t c, T value) { values[j * classes_ + c] = value; });
        }
        return values;
    }

    // The weights that are not 0, the bias last.
    FeatureLists<T> lists() const {
        FeatureLists<T> lists;
        for (const FeatureRow<T>& row : rows_) {
            row.for_each(classes_, [&](std::size_t c, T value) {
                if (value != 0) lists.add(static_cast<std::int32_t>(c), value);
            });
            lists.end_feature();
        }
        return lists;
    }
    // Such lists into a store that has no weights yet; false where they cannot be its own.
    bool unpack(const FeatureListsView<T>& lists) {
        if (!lists.are_of(rows_.size(), classes_)) return false;
        for (std::size_t j = 0; j < rows_.size(); ++j) {
            lists.for_each(j, [&](std::int32_t c, T value) {
                rows_[j].append(c, value, longest_, stride_);
            });
        }
        return true;
    }

    std::size_t bytes() const {
        std::size_t total = rows_.size() * sizeof(FeatureRow<T>);
        for (const FeatureRow<T>& row : rows_) total += row.bytes(stride_);
        return total;
    }

private:
    static constexpr std::size_t most_slices = 64, few = 64;
    static constexpr double longest_share = 0.15;  // of the classes, for a list
    static constexpr std::size_t most_alphas = 1 << 25;
    static constexpr std::size_t group_shares = 16;  // of the features of a group
    // Up to so many examples of a group with a feature, to look for their classes in its list is
    // quicker than to note where each class of the list is.
    static constexpr std::size_t few_entries = 2;

    // What a thread needs to write.
    struct Writer {
        Marks marks;
        std::vector<Change<T>> changes;
        std::vector<std::uint32_t> seen;  // by change: the last row that had its class
        std::uint32_t row = 0;

        void begin(std::span<const Change<T>> next) {
            if (next.size() > seen.size()) seen.resize(next.size());
            for (std::size_t at = 0; at < next.size(); ++at) marks.set(next[at].c, at);
        }
        void end(std::span<const Change<T>> last) {
            for (const Change<T>& change : last) marks.clear(change.c);
        }
    };

    static std::size_t first_of(std::size_t share, const GroupColumns<T>& columns) {
        return columns.size() * share / group_shares;
    }

    template <class Body>
    void visit(std::size_t j, Body&& body) const {
        rows_[j].for_each(classes_, [&](std::size_t c, T value) {
            if (value != 0) body(c, j, value);
        });
    }

    Writer& writer(const Slice& slice) {
        Writer& found = writers_[slice.s];
        if (found.marks.empty()) found.marks = scratch();
        return found;
    }

    // Of what comes next in a row; not of features that other threads may write.
    template <class Row>
    [[gnu::always_inline]] void prefetch_place(const Row& row, std::size_t p) const {
        constexpr std::size_t far = 12;
        if (p + far < row.size()) __builtin_prefetch(&rows_[row.index(p + far)]);
    }
    template <class Row>
    [[gnu::always_inline]] void prefetch_row(const Row& row, std::size_t p,
                                             Slice slice = {0, 1}) const {
        constexpr std::size_t near = 4;
        prefetch_place(row, p);
        if (p + near >= row.size() || !slice.holds(row.index(p + near))) return;
        prefetch_list(rows_[row.index(p + near)]);
    }
    // The same for a group, up to the end of the features that are the thread's own.
    void prefetch_columns(const GroupColumns<T>& columns, std::size_t l, std::size_t end) const {
        constexpr std::size_t far = 16, near = 4;
        if (l + far < end) __builtin_prefetch(&rows_[columns.feature(l + far)]);
        if (l + near < end) prefetch_list(rows_[columns.feature(l + near)]);
    }
    static void prefetch_list(const FeatureRow<T>& u) {
        if (u.is_full() || u.size() == 0) return;
        prefetch_lines(u.classes(), u.size() * sizeof(std::int32_t));
        prefetch_lines(u.values(), u.size() * sizeof(T));
    }

    // The weights of the p-th feature of a row where they are a full row, else null.
    template <class Row>
    const T* full_row(const Row& row, std::size_t p) const {
        if (p >= row.size()) return nullptr;
        const FeatureRow<T>& u = rows_[row.index(p)];
        return u.is_full() ? u.values() : nullptr;
    }

    template <class V>
    void begin(V* f) const {
        const T* start = constant();
        const std::size_t stored = start ? classes_ : 0;
        for (std::size_t c = 0; c < stored; ++c) f[c] = V(start[c]);
        std::fill(f + stored, f + simd::padded<V>(classes_), V(0));
    }

    template <class V>
    [[gnu::always_inline]] void add_list(std::size_t j, V x, V* f) const {
        const FeatureRow<T>& u = rows_[j];
        if (u.is_full()) return;
        const std::int32_t* classes = u.classes();
        const T* values = u.values();
        for (std::size_t e = 0; e < u.size(); ++e) f[classes[e]] += x * V(values[e]);
    }

    // Of some classes, from a list.
    void add_marked(const FeatureRow<T>& u, T x, std::span<const std::int32_t> classes, T* f,
                    Marks& marks) const {
        if (u.size() == 0) return;
        for (std::size_t at = 0; at < classes.size(); ++at) marks.set(classes[at], at);
        const T* values = u.values();
        marks.for_each(u.classes(), u.size(),
                       [&](std::size_t e, std::size_t at) { f[at] += x * values[e]; });
        for (const std::int32_t c : classes) marks.clear(c);
    }

    template <class Row, class V>
    void sum(const Row row, V* f) const {
        std::array<FullTerm<T, V>, 32> terms;
        std::size_t count = 0;
        begin(f);
        const auto flush = [&] {
            add_full(std::span<const FullTerm<T, V>>(terms.data(), count),
                     simd::padded<V>(classes_), f);
            count = 0;
        };
        for (std::size_t p = 0; p < row.size(); ++p) {
            prefetch_row(row, p);
            const FeatureRow<T>& u = rows_[row.index(p)];
            if (u.is_full()) {
                terms[count++] = {u.values(), V(row.value(p))};
                if (count == terms.size()) flush();
            } else {
                add_list(row.index(p), V(row.value(p)), f);
            }
        }
        flush();
    }

    void add_to(FeatureRow<T>& u, T x, std::span<const Change<T>> changes, Writer& to) {
        T* values = u.values();
        if (u.is_full()) {
            for (const Change<T>& change : changes) values[change.c] += x * change.delta;
            return;
        }
        if (++to.row == 0) {
            std::fill(to.seen.begin(), to.seen.end(), 0);
            to.row = 1;
        }
        std::size_t found = 0;
        to.marks.for_each(u.classes(), u.size(), [&](std::size_t e, std::size_t at) {
            values[e] += x * changes[at].delta;
            to.seen[at] = to.row;
            ++found;
        });
        if (found == changes.size()) return;
        for (std::size_t at = 0; at < changes.size(); ++at) {
            if (to.seen[at] != to.row) {
                u.append(changes[at].c, x * changes[at].delta, longest_, stride_);
            }
        }
    }

    // The lanes first <= c < last, whose rows are empty; returns their squared norm before
    // rounding.
    template <class Problem>
    double rebuild(const Problem& problem, const AlphasByClass& alphas, std::size_t first,
                   std::size_t last, int threads) {
        const std::size_t at_once = 16 * static_cast<std::size_t>(threads);
        std::vector<Column<T>> columns(at_once);
        std::vector<ColumnSum<Problem>> sums(threads, ColumnSum<Problem>(problem));
        CompensatedSum norm;
        for (std::size_t begin = first; begin < last; begin += at_once) {
            const std::size_t count = std::min(at_once, last - begin);
            parallel_for(threads, threads, [&](std::size_t t) {
                for (std::size_t at = t; at < count; at += threads) {
                    sums[t](alphas.of(begin + at - first), columns[at]);
                }
            });
            parallel_for(threads, threads, [&](std::size_t t) {
                const Slice slice{t, static_cast<std::size_t>(threads)};
                for (std::size_t at = 0; at < count; ++at) {
                    const auto c = static_cast<std::int32_t>(begin + at);
                    for (const auto& [j, w] : columns[at].weights) {
                        if (slice.holds(j)) rows_[j].append(c, w, longest_, stride_);
                    }
                }
            });
            for (std::size_t at = 0; at < count; ++at) norm += columns[at].norm;
        }
        return norm.value();
    }

    Lanes lanes_;
    std::size_t classes_, stride_;
    std::size_t longest_;  // list
    bool bias_;
    std::vector<FeatureRow<T>> rows_;  // by feature, the bias last
    std::vector<Writer> writers_;      // by slice
};

}  // namespace polymargin
