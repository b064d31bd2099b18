// The simplest store of weights that could be: for each feature a map from class to weight.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "polymargin/feasible.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin::testing {

template <class T>
class MapWeights {
public:
    using value_type = T;
    using InDouble = MapWeights<double>;
    struct Slice {
        int first, last;  // classes
    };
    struct Scratch {};

    MapWeights(std::size_t features, const Lanes& lanes, bool bias)
        : lanes_(lanes), features_(features + bias), bias_(bias) {}

    const Lanes& lanes() const { return lanes_; }
    Scratch scratch() const { return {}; }
    MapWeights copy() const { return *this; }

    template <class Row>
    void scores(const Row row, T* f) const {
        sum(row, f);
    }
    template <class Row>
    void scores_in_double(const Row row, double* f) const {
        sum(row, f);
    }
    template <class Row>
    void scores_of(const Row row, std::span<const std::int32_t> classes, T* f, Scratch&) const {
        std::vector<T> all(simd::padded<T>(lanes_.size()));
        sum(row, all.data());
        for (std::size_t at = 0; at < classes.size(); ++at) f[at] = all[classes[at]];
    }

    template <class Row>
    void add(const Row row, const T* delta, Slice slice) {
        for (int c = slice.first; c < slice.last; ++c) add(row, c, delta[c]);
    }
    template <class Row>
    void add(const Row row, std::span<const Change<T>> changes, Slice slice) {
        for (const auto& [c, delta, beta] : changes) {
            if (c >= slice.first && c < slice.last) add(row, c, delta);
        }
    }

    // A map cannot be written by two threads.
    std::size_t slices() const { return 1; }
    Slice slice(std::size_t s, std::size_t) const { return s == 0 ? whole() : Slice{0, 0}; }
    Slice whole() const { return {0, lanes_.size()}; }

    double squared_norm(bool centred) const {
        CompensatedSum norm;
        for (const auto& classes : features_) {
            double sum = 0;
            for (const auto& [c, w] : classes) {
                norm += double(w) * w;
                sum += w;
            }
            if (centred) norm += -sum * sum / lanes_.size();
        }
        return norm.value();
    }

    void centre() {
        for (auto& classes : features_) {
            double sum = 0;
            for (const auto& [c, w] : classes) sum += w;
            if (sum == 0) continue;
            for (int c = 0; c < lanes_.size(); ++c) classes[c] -= T(sum / lanes_.size());
        }
    }

    template <class Problem>
    double rebuild(const Problem& problem, const Duals<T>& duals, int) {
        InDouble W(features_.size() - bias_, lanes_, bias_);
        W.accumulate(problem, duals);
        for (std::size_t j = 0; j < features_.size(); ++j) {
            features_[j].clear();
            for (const auto& [c, w] : W.feature(j)) features_[j][c] = T(w);
        }
        return W.squared_norm(false);
    }

    template <class Problem, class V>
    void accumulate(const Problem& problem, const Duals<V>& duals) {
        std::vector<double> dense(problem.k);
        std::vector<V> scratch(problem.rows.scratch_size());
        for (std::size_t i = 0; i < problem.size(); ++i) {
            const auto row = problem.rows.row(i, scratch.data());
            for_each_alpha(problem.machine, duals, i, problem.labels[i], problem.upper[i], lanes_,
                           dense, [&](int lane, double a) { add(row, lane, a); });
        }
    }

    std::vector<T> packed() const {
        std::vector<T> values;
        for (const auto& classes : features_) {
            for (int c = 0; c < lanes_.size(); ++c) {
                values.push_back(classes.contains(c) ? classes.at(c) : T(0));
            }
        }
        return values;
    }
    void scale(T factor) {
        for (auto& classes : features_) {
            for (auto& [c, w] : classes) w *= factor;
        }
    }

    template <class Row>
    void add(const Row row, int c, T change) {
        for (std::size_t p = 0; p < row.size(); ++p) {
            features_[row.index(p)][c] += row.value(p) * change;
        }
        if (bias_) features_.back()[c] += change;
    }
    const std::map<int, T>& feature(std::size_t j) const { return features_[j]; }

private:
    template <class Row, class V>
    void sum(const Row row, V* f) const {
        std::fill_n(f, simd::padded<V>(lanes_.size()), V(0));
        if (bias_) {
            for (const auto& [c, w] : features_.back()) f[c] = V(w);
        }
        for (std::size_t p = 0; p < row.size(); ++p) {
            for (const auto& [c, w] : features_[row.index(p)]) f[c] += V(row.value(p)) * V(w);
        }
    }

    Lanes lanes_;
    std::vector<std::map<int, T>> features_;
    bool bias_;
};

}  // namespace polymargin::testing
