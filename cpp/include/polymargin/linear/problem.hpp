// A linear problem as the loops see it, and what a fit is asked for and reports.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "polymargin/block/registry.hpp"
#include "polymargin/bounds.hpp"
#include "polymargin/fit/goal.hpp"
#include "polymargin/fit/observer.hpp"
#include "polymargin/machine.hpp"
#include "polymargin/rows.hpp"

namespace polymargin {

template <class Rows>
using RowOf = decltype(std::declval<Rows>().row(0, nullptr));

template <class Rows>
struct LinearProblem {
    using value_type = typename Rows::value_type;

    const Rows& rows;
    std::span<const double> norms;         // |x_i|^2
    std::span<const std::int32_t> labels;  // 0 .. k-1
    Bounds upper;
    int k;  // classes, wherever their weights are
    const Machine& machine;
    bool bias;  // a constant feature 1, regularised like any other

    std::size_t size() const { return rows.size(); }
    std::size_t features() const { return rows.features() + bias; }

    // Weights of zero for all classes.
    template <class Store>
    Store weights() const {
        return Store(rows.features(), k, bias);
    }
};

// q_i = |x_i|^2, the bias counted in, in the working precision.
template <class Rows, class T = typename Rows::value_type>
std::vector<T> working_norms(const LinearProblem<Rows>& problem) {
    std::vector<T> norms(problem.size());
    for (std::size_t i = 0; i < norms.size(); ++i) {
        norms[i] = static_cast<T>(problem.norms[i] + problem.bias);
    }
    return norms;
}

// Sparse weights whose optimum is not.
struct TooDense : std::runtime_error {
    explicit TooDense(double bytes)
        : std::runtime_error("the weights are too dense to be stored"), bytes(bytes) {}
    double bytes;
};

struct LinearOptions {
    Goal goal;
    BlockChoice block{};
    bool shrinking = true;         // set examples at rest aside
    bool class_lists = true;       // sweeps over the classes that an example lists
    bool second_order = true;      // steps on the free variables
    double relaxation = 1.5;       // of visits: 1 is the best step by itself, below 2
    bool certified_later = false;  // another descent will go on from there
    std::uint64_t seed = 0;
    int threads = 1;
    double shared_from = 1e7;    // number of dual variables from which threads share a sweep
    double searched_from = 1e7;  // and from which visits see listed classes alone, if weights allow
    double single_from = 1 << 16;  // of these and weights from which double begins in single
    double memory = std::numeric_limits<double>::infinity();  // bytes for weights and duals
};

}  // namespace polymargin
