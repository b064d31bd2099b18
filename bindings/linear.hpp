// What fits and streams of linear machines share.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "machine.hpp"
#include "options.hpp"
#include "polymargin/linear/train.hpp"
#include "rows.hpp"

namespace polymargin::python {

inline void check_labels(const Vector<std::int32_t>& labels, const Strided<double>& upper,
                         std::size_t n, int k) {
    if (labels.size() != n || upper.size() != n) {
        throw nb::value_error("labels and upper need one entry per row");
    }
    if (k < 2) throw nb::value_error("at least two classes are needed");
    for (std::size_t i = 0; i < n; ++i) {
        if (labels.data()[i] < 0 || labels.data()[i] >= k) {
            throw nb::value_error("a label is outside [0, n_classes)");
        }
        if (!(upper(i) > 0)) throw nb::value_error("every upper bound must be positive");
    }
}

struct Options {
    bool fit_intercept = true;
    double tol = 1e-3;
    std::int64_t max_iter = 1000;
    std::string stopping = "gap", block_solver = "newton", weights = "dense";
    double block_tol = 1e-3;
    int block_max_iter = 0;
    bool shrinking = true, class_lists = true, second_order = true, record_passes = false;
    double relaxation = LinearOptions{}.relaxation;
    std::uint64_t seed = 0;
    int n_threads = 1;
    double shared_from = LinearOptions{}.shared_from;
    double searched_from = LinearOptions{}.searched_from;
    double single_from = LinearOptions{}.single_from;
    double memory = LinearOptions{}.memory;

    template <class Visit>
    static void fields(Visit&& visit) {
        visit("fit_intercept", &Options::fit_intercept);
        visit("tol", &Options::tol);
        visit("max_iter", &Options::max_iter);
        visit("stopping", &Options::stopping);
        visit("block_solver", &Options::block_solver);
        visit("block_tol", &Options::block_tol);
        visit("block_max_iter", &Options::block_max_iter);
        visit("weights", &Options::weights);
        visit("shrinking", &Options::shrinking);
        visit("class_lists", &Options::class_lists);
        visit("second_order", &Options::second_order);
        visit("relaxation", &Options::relaxation);
        visit("record_passes", &Options::record_passes);
        visit("seed", &Options::seed);
        visit("n_threads", &Options::n_threads);
        visit("shared_from", &Options::shared_from);
        visit("searched_from", &Options::searched_from);
        visit("single_from", &Options::single_from);
        visit("memory", &Options::memory);
    }

    bool has_sparse_weights() const {
        if (weights != "dense" && weights != "sparse") {
            throw nb::value_error("weights are 'dense' or 'sparse'");
        }
        return weights == "sparse";
    }

    LinearOptions for_machine(const Machine& machine) const {
        const BlockSolverInfo* info = find_block_solver(block_solver);
        if (!info)
            throw nb::value_error(("no block solver is called '" + block_solver + "'").c_str());
        if (!info->defined_for(machine)) {
            throw nb::value_error(("block solver '" + block_solver +
                                   "' is not defined for machine '" + std::string(machine.name) +
                                   "'")
                                      .c_str());
        }
        if (stopping != "gap" && stopping != "kkt") {
            throw nb::value_error("stopping is 'gap' or 'kkt'");
        }
        return {.goal = {.tol = tol,
                         .max_iter = max_iter,
                         .stopping = stopping == "kkt" ? Stopping::kkt : Stopping::gap,
                         .record_passes = record_passes},
                .block = {info->kind, block_tol, block_max_iter},
                .shrinking = shrinking,
                .class_lists = class_lists,
                .second_order = second_order,
                .relaxation = relaxation,
                .seed = seed,
                .threads = n_threads,
                .shared_from = shared_from,
                .searched_from = searched_from,
                .single_from = single_from,
                .memory = memory};
    }
};

// (k, d) view of the solver's own matrix, and the bias row.
template <class T>
std::pair<nb::object, nb::object> weight_views(DenseWeights<T>&& weights) {
    auto* owner = new DenseWeights<T>(std::move(weights));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<DenseWeights<T>*>(p); });
    const auto [values, d, k, stride, bias] = owner->view();
    nb::object coef =
        nb::ndarray<nb::numpy, T>(values, {k, d}, capsule, {1, std::int64_t(stride)}).cast();
    std::vector<T> intercept(k);
    if (bias) std::copy_n(values + d * stride, k, intercept.data());
    return {coef, to_numpy(std::move(intercept))};
}

// The weights that are not zero by class, as (data, indices, indptr) of compressed sparse rows with
// ascending indices, and the bias row; `for_each_last` may give the weights up.
template <class T, class ForEach>
std::pair<nb::object, nb::object> weights_by_class(const SparseWeights<T>& weights,
                                                   ForEach&& for_each_last) {
    const auto k = static_cast<std::size_t>(weights.lanes().size());
    std::vector<std::int64_t> ends(k + 1);
    weights.for_each([&](std::size_t c, std::size_t, T) { ++ends[c + 1]; });
    for (std::size_t c = 0; c < k; ++c) ends[c + 1] += ends[c];
    std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
    std::vector<T> intercept(k);
    if (const T* bias = weights.constant()) std::copy_n(bias, k, intercept.data());
    const auto count = static_cast<std::size_t>(ends.back());
    std::vector<T> data(count);
    // SciPy keeps 32-bit indices where they do.
    const auto fill = [&]<class Index>(std::vector<Index> indices) {
        for_each_last([&](std::size_t c, std::size_t j, T value) {
            const auto at = static_cast<std::size_t>(next[c]++);
            data[at] = value;
            indices[at] = static_cast<Index>(j);
        });
        return nb::make_tuple(to_numpy(std::move(data)), to_numpy(std::move(indices)),
                              to_numpy(std::vector<Index>(ends.begin(), ends.end())));
    };
    const std::size_t most = std::max(count, weights.features());
    nb::object coef = most <= INT32_MAX ? nb::object(fill(std::vector<std::int32_t>(count)))
                                        : nb::object(fill(std::vector<std::int64_t>(count)));
    return {coef, to_numpy(std::move(intercept))};
}

template <class T>
std::pair<nb::object, nb::object> weight_views(SparseWeights<T>&& weights) {
    return weights_by_class(weights, [&](auto&& body) { std::move(weights).for_each_once(body); });
}

}  // namespace polymargin::python
