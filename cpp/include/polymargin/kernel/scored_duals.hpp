// Dual variables and scores of all examples, side by side, for solvers that move few variables at
// a time.
//
//     f_i = sum_j K_ij a_j,  a_j = sum_c beta_jc nu_c,     g_ic = t_c - nu_c^T f_i
//
// Scores are kept in double, by example, and not centred: where the machine is zero-sum, their sum
// over the classes is kept beside them. A change of one variable then changes one or two scores of
// each example. Dual variables are kept in the working precision, and scores follow what is kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "polymargin/example_check.hpp"
#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/row_cache.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

// How the vector a of one example changed.
template <class T>
struct AlphaMove {
    struct Entry {
        std::int32_t c;
        double delta;
    };
    std::size_t example = 0;
    const T* row = nullptr;  // of the kernel, of this example
    std::vector<Entry> entries;
    double total = 0;  // sum of the entries

    void start(std::size_t i, const T* kernel_row) {
        example = i;
        row = kernel_row;
        entries.clear();
        total = 0;
    }
    void add(std::int32_t c, double delta) {
        entries.push_back({c, delta});
        total += delta;
    }
};

template <class T>
class ScoredDuals {
public:
    using value_type = T;
    static constexpr double never = -std::numeric_limits<double>::infinity();

    ScoredDuals(const KernelProblem<T>& problem, const Duals<T>& start)
        : problem_(problem),
          stride_(simd::padded<double>(problem.k)),
          beta_(problem.size() * stride_),
          f_(problem.size() * stride_),
          total_(problem.machine.zero_sum ? problem.size() : 0),
          rise_(problem.size() * (stride_ + 1), never),
          fall_(problem.size() * (stride_ + 1), never),
          slack_(problem.machine.simplex() ? problem.size() : 0) {
        for (std::size_t i = 0; i < problem.size(); ++i) {
            start.for_each(i, [&](std::int32_t c, T value) { beta_[i * stride_ + c] = value; });
            open(i);
        }
    }

    const KernelProblem<T>& problem() const { return problem_; }
    std::size_t size() const { return problem_.size(); }
    T beta(std::size_t i, std::int32_t c) const { return beta_[i * stride_ + c]; }
    double slack(std::size_t i) const { return slack_[i]; }
    double excess(std::size_t i) const {
        const T* row = beta_.data() + i * stride_;
        return std::accumulate(row, row + problem_.k, 0.0) - problem_.upper[i];
    }

    bool has_variable(std::size_t i, std::int32_t c) const {
        return problem_.machine.has_variable(c == problem_.labels[i]);
    }
    T upper(std::size_t i, std::int32_t c) const {
        return T(problem_.machine.upper(c == problem_.labels[i], problem_.upper[i]));
    }
    bool rises(std::size_t i, std::int32_t c) const { return rise_[mask(i, c)] == 0; }
    bool falls(std::size_t i, std::int32_t c) const { return fall_[mask(i, c)] == 0; }
    void close(std::size_t i, std::int32_t c) { rise_[mask(i, c)] = fall_[mask(i, c)] = never; }

    // Lets all variables of an example move in the directions that their bounds leave them.
    void open(std::size_t i) {
        for (int c = 0; c < problem_.k; ++c) {
            if (has_variable(i, c)) open(i, c);
        }
        if (problem_.machine.simplex()) find_slack(i);
    }

    template <class Body>
    void for_each(std::size_t i, Body&& body) const {
        for (int c = 0; c < problem_.k; ++c) {
            if (beta(i, c) != 0) body(c, beta(i, c));
        }
    }
    bool is_zero(std::size_t i) const {
        const T* row = beta_.data() + i * stride_;
        return std::all_of(row, row + problem_.k, [](T b) { return b == 0; });
    }

    double gradient(std::size_t i, std::int32_t c) const {
        if (c == problem_.labels[i] && !problem_.machine.relative) return own_gradient(i);
        return f_[i * stride_ + c] + base(i);
    }

    // The largest gradient of a variable that can rise, the smallest of one that can fall.
    struct Reach {
        double top, low;
    };
    Reach reach(std::size_t i) const {
        const double shift = base(i);
        const double *f = f_.data() + i * stride_, *rise = rise_.data() + i * stride_,
                     *fall = fall_.data() + i * stride_;
        simd::Largest<double> top(never), low(never);
        if (problem_.machine.has_others) {
            simd::for_each_pack<double>(stride_, [&]<class P>(std::size_t at, P) {
                const P g = simd::load<P>(f + at) + shift;
                top.add(g + simd::load<P>(rise + at));
                low.add(simd::load<P>(fall + at) - g);
            });
        }
        Reach reach{top.value(), -low.value()};
        if (problem_.machine.has_own) {
            const std::int32_t y = problem_.labels[i];
            const double g = own_gradient(i);
            reach.top = std::max(reach.top, g + rise_[mask(i, y)]);
            reach.low = std::min(reach.low, g - fall_[mask(i, y)]);
        }
        return reach;
    }

    // By how much an example misses the optimality conditions.
    double violation(std::size_t i) const {
        const auto [top, low] = reach(i);
        if (!problem_.machine.simplex()) return std::max({0.0, top, -low});
        const double least = slack_[i] > 0 ? std::min(0.0, low) : low;
        return std::max(0.0, std::max(0.0, top) - least);
    }

    // Sets a variable; its part in a_i goes to `move`.
    void set(std::size_t i, std::int32_t c, T value, AlphaMove<T>& move) {
        T& kept = beta_[i * stride_ + c];
        const double change = double(value) - double(kept);
        kept = value;
        open(i, c);
        if (problem_.machine.simplex()) find_slack(i);
        if (change == 0) return;
        problem_.machine.for_each_alpha(problem_.labels[i], c, change,
                                        [&](std::int32_t at, double a) { move.add(at, a); });
    }

    void apply(std::size_t i, const AlphaMove<T>& move) { add_product(i, move, move.row[i]); }

    // The scores of some examples anew from the dual variables.
    void recompute(std::span<const std::uint32_t> examples, RowCache<T>& rows) {
        if (examples.empty()) return;
        for (const std::uint32_t i : examples) {
            std::fill_n(f_.begin() + i * stride_, stride_, 0.0);
            if (problem_.machine.zero_sum) total_[i] = 0;
        }
        std::vector<AlphaMove<T>> support;
        for (std::size_t j = 0; j < size(); ++j) {
            if (!is_zero(j)) support.push_back(alpha(j));
        }
        if (support.size() <= examples.size()) {
            for (AlphaMove<T>& move : support) {
                move.row = rows.row(move.example);
                for (const std::uint32_t i : examples) apply(i, move);
            }
            return;
        }
        // The kernel is symmetric: as many rows as there are examples do.
        for (const std::uint32_t i : examples) {
            const T* row = rows.row(i);
            for (const AlphaMove<T>& move : support) {
                add_product(i, move, row[move.example]);
            }
        }
    }

    // Scores of one example as ExampleBlock and ExampleCheck take them.
    template <class To>
    void read(std::size_t i, To* to) const {
        const double mean = mean_score(i);
        for (int c = 0; c < problem_.k; ++c) to[c] = To(f_[i * stride_ + c] - mean);
    }

    Certificate check() const {
        ExampleCheck check(problem_.machine, problem_.k,
                           1 - 64 * double(std::numeric_limits<T>::epsilon()));
        CertificateSums sums;
        for (std::size_t i = 0; i < size(); ++i) {
            read(i, check.scores());
            sums.add(check(*this, i, problem_.labels[i], problem_.upper[i]));
        }
        return sums.certificate();
    }

    Duals<T> duals() const {
        Duals<T> duals(size(), problem_.k);
        std::vector<DualEntry<T>> entries;
        for (std::size_t i = 0; i < size(); ++i) {
            entries.clear();
            for_each(i, [&](std::int32_t c, T value) { entries.push_back({c, value}); });
            duals.assign(i, entries);
        }
        return duals;
    }

private:
    // The own variable's gradient has another sign: its mask lies behind those of all others, so
    // that packs do not read it.
    std::size_t mask(std::size_t i, std::int32_t c) const {
        return c == problem_.labels[i] ? size() * stride_ + i : i * stride_ + c;
    }
    double mean_score(std::size_t i) const {
        return problem_.machine.zero_sum ? total_[i] / problem_.k : 0.0;
    }
    Machine::Gradients<double> gradients(std::size_t i) const {
        return problem_.machine.gradients(f_[i * stride_ + problem_.labels[i]], mean_score(i),
                                          problem_.k);
    }
    // g_ic = f_ic + base(i) for the other classes.
    double base(std::size_t i) const { return gradients(i).other; }
    double own_gradient(std::size_t i) const { return gradients(i).own; }

    void open(std::size_t i, std::int32_t c) {
        const T value = beta(i, c);
        const bool rises = problem_.machine.simplex() || value < upper(i, c);
        rise_[mask(i, c)] = rises ? 0 : never;
        fall_[mask(i, c)] = value > 0 ? 0 : never;
    }

    // What is left of C_i; less than rounding counts as nothing.
    void find_slack(std::size_t i) {
        const double rounding = 4 * double(std::numeric_limits<T>::epsilon());
        const double left = -excess(i);
        slack_[i] = left > rounding * problem_.upper[i] ? left : 0;
    }

    AlphaMove<T> alpha(std::size_t j) const {
        AlphaMove<T> move;
        move.start(j, nullptr);
        const std::int32_t y = problem_.labels[j];
        double own = 0;
        for_each(j, [&](std::int32_t c, T value) {
            problem_.machine.for_each_alpha(y, c, double(value), [&](std::int32_t at, double a) {
                if (at == y) own += a;
                else move.add(at, a);
            });
        });
        if (own != 0) move.add(y, own);
        return move;
    }

    void add_product(std::size_t i, const AlphaMove<T>& move, double value) {
        double* f = f_.data() + i * stride_;
        for (const auto& [c, delta] : move.entries) f[c] += delta * value;
        if (problem_.machine.zero_sum) total_[i] += move.total * value;
    }

    const KernelProblem<T>& problem_;
    std::size_t stride_;
    std::vector<T> beta_;
    std::vector<double> f_, total_;
    // 0 where a variable can rise or fall, else -infinity: added to a gradient, they mask it.
    std::vector<double> rise_, fall_;
    std::vector<double> slack_;  // of sum_c beta_c <= C
};

}  // namespace polymargin
