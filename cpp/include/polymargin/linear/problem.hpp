// A linear problem as the loops see it, and what a fit is asked for and reports.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/block/registry.hpp"
#include "polymargin/bounds.hpp"
#include "polymargin/machine.hpp"
#include "polymargin/rows.hpp"

namespace polymargin {

template <class Rows>
using RowOf = decltype(std::declval<Rows>().row(0, nullptr));

template <class Rows>
struct LinearProblem {
    const Rows& rows;
    std::span<const double> norms;         // |x_i|^2
    std::span<const std::int32_t> labels;  // 0 .. k-1
    Bounds upper;
    int k;
    const Machine& machine;
    bool bias;  // a constant feature 1, regularised like any other

    std::size_t size() const { return rows.size(); }
    std::size_t weight_rows() const { return rows.features() + bias; }
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

enum class Stopping { gap, kkt };

struct LinearOptions {
    bool bias = true;
    double tol = 1e-3;
    std::int64_t max_iter = 1000;  // passes over the data, counted by visits
    Stopping stopping = Stopping::gap;
    BlockChoice block;
    bool shrinking = true;       // set examples at rest aside
    bool class_lists = true;     // sweeps over the classes that an example lists
    bool second_order = true;    // steps on the free variables
    bool record_passes = false;  // a record after every pass in place of one for every check
    std::uint64_t seed = 0;
    int threads = 1;
    double shared_from = 1e7;  // number of dual variables from which threads share a sweep
};

// One check of the whole problem.
struct Record {
    double epoch, seconds, primal, dual, gap, violation;
    std::int64_t active;
};

// What the caller may do while a fit runs. Both return true to stop it.
struct Observer {
    std::function<bool(const Record&)> on_check;
    std::function<bool()> interrupted;  // asked several times a second
};

}  // namespace polymargin
