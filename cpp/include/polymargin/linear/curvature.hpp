// H p, the second derivative of the dual on the free variables times a change p of them:
//
//     V = sum_i x_i (sum_c p_ic nu_c)^T,    (H p)_ic = nu_c^T V^T x_i.
//
// Dense rows make V, all of it, and then take scores with it. Sparse rows are turned into columns:
// a feature at a time, one row of V is summed up and handed out to the same examples again. Nothing
// but the free variables is kept then, and they fit a cache that the weights of all features do
// not. Where few classes of an example have a free variable, no others are looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/linear/free_variables.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights/dense.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

// nu_c^T f of the variables of an example, f being what holds for its classes.
template <class T, class Variables, class Body>
void for_each_margin(const Machine& machine, int k, std::int32_t y, const T* f,
                     Variables&& variables, Body&& body) {
    T mean = 0;
    if (machine.zero_sum) {
        for (int c = 0; c < k; ++c) mean += f[c];
        mean /= T(k);
    }
    const T own = f[y], base = machine.base(own, mean);
    for (auto& v : variables) body(v, v.c == y ? own - mean : base - f[v.c]);
}

template <class Rows>
class RowCurvature {
public:
    using T = typename Rows::value_type;
    using Variable = FreeVariable<T>;

    RowCurvature(const LinearProblem<Rows>& problem, int threads)
        : problem_(problem), V_(problem.template weights<DenseWeights<T>>()) {
        for (int t = 0; t < threads; ++t) workers_.emplace_back(problem);
    }

    void begin(FreeVariables<Rows>&) {}

    double visits() const { return 1; }  // that a product costs, for each example

    // curved = H p, p being this member of the variables.
    void multiply(FreeVariables<Rows>& free, T Variable::* p) {
        const std::span examples = free.examples();
        const std::size_t threads = crew_for(examples.size(), workers_.size());
        const auto part = [&](std::size_t t) {
            return examples.subspan(examples.size() * t / threads,
                                    examples.size() * (t + 1) / threads -
                                        examples.size() * t / threads);
        };
        run_crew(threads, [&](std::size_t t) {
            for (const FreeExample& example : part(t)) spread(workers_[t], free, example, p);
        });
        T keep = 0;
        for (Worker& worker : std::span(workers_).first(threads)) {
            V_.take(keep, worker.gathered);
            keep = 1;
        }
        run_crew(threads, [&](std::size_t t) {
            std::vector<T>& scores = workers_[t].scores;
            for (const FreeExample& example : part(t)) {
                V_.scores(problem_.rows.row(example.i, workers_[t].row.data()), scores.data());
                for_each_margin(problem_.machine, problem_.k, example.y, scores.data(),
                                free.of(example), [](Variable& v, T along) { v.curved = along; });
            }
        });
    }

private:
    // What a thread needs of its own.
    struct Worker {
        explicit Worker(const LinearProblem<Rows>& problem)
            : gathered(problem.template weights<DenseWeights<T>>()),
              row(problem.rows.scratch_size()),
              scores(simd::padded<T>(problem.k)),
              delta(simd::padded<T>(problem.k)) {}

        DenseWeights<T> gathered;  // its part of V
        std::vector<T> row, scores, delta;
    };

    void spread(Worker& worker, FreeVariables<Rows>& free, const FreeExample& example,
                T Variable::* p) {
        std::vector<T>& delta = worker.delta;
        free.add_alphas(example, p, delta);
        worker.gathered.add(problem_.rows.row(example.i, worker.row.data()), delta.data(),
                            worker.gathered.whole());
        free.clear_alphas(example, delta);
    }

    const LinearProblem<Rows>& problem_;
    DenseWeights<T> V_;
    std::vector<Worker> workers_;
};

template <class Rows>
class ColumnCurvature {
public:
    using T = typename Rows::value_type;
    using Variable = FreeVariable<T>;

    ColumnCurvature(const LinearProblem<Rows>& problem, int threads)
        : problem_(problem), stride_(simd::padded<T>(problem.k)), workers_(threads) {
        for (Worker& worker : workers_) worker.row.resize(stride_);
    }

    // Turns the rows of the examples with free variables into columns.
    void begin(FreeVariables<Rows>& free) {
        const std::span examples = free.examples();
        starts_.assign(problem_.features() + 1, 0);
        for (const FreeExample& example : examples) {
            const auto row = problem_.rows.row(example.i, nullptr);
            for (std::size_t p = 0; p < row.size(); ++p) ++starts_[row.index(p) + 1];
        }
        if (problem_.bias) starts_.back() = examples.size();
        for (std::size_t j = 1; j < starts_.size(); ++j) starts_[j] += starts_[j - 1];
        cells_.resize(starts_.back());
        std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
        for (std::uint32_t e = 0; e < examples.size(); ++e) {
            const auto row = problem_.rows.row(examples[e].i, nullptr);
            for (std::size_t p = 0; p < row.size(); ++p) {
                cells_[next[row.index(p)]++] = {e, row.value(p)};
            }
            if (problem_.bias) cells_[next.back()++] = {e, T(1)};
        }
        classes_.clear();
        for (const Variable& v : free.all()) classes_.push_back(v.c);
        is_listed_ = apart * classes_.size() <= stride_ * examples.size();
    }

    double visits() const { return is_listed_ ? 0.25 : 1; }

    // curved = H p, p being this member of the variables.
    void multiply(FreeVariables<Rows>& free, T Variable::* p) {
        if (is_listed_) {
            multiply_listed(free, p);
        } else {
            multiply_all(free, p);
        }
    }

private:
    struct Cell {
        std::uint32_t example;  // by its place among those with free variables
        T x;
    };
    struct Worker {
        std::vector<T> row;  // of V
        std::vector<T> out;
    };

    // A variable by itself takes about as long as this many of all in order.
    static constexpr std::size_t apart = 8;

    // For each column on some thread; what the threads have put out is added up in workers_[0].
    template <class Body>
    void for_all_columns(std::size_t examples, std::size_t size, Body&& body) {
        const std::size_t threads = crew_for(examples, workers_.size());
        run_crew(threads, [&](std::size_t t) {
            workers_[t].out.assign(size, T(0));
            const std::size_t last = split(t + 1, threads);
            for (std::size_t j = split(t, threads); j < last; ++j) {
                const std::span cells(cells_);
                body(cells.subspan(starts_[j], starts_[j + 1] - starts_[j]), workers_[t]);
            }
        });
        for (std::size_t t = 1; t < threads; ++t) {
            for (std::size_t at = 0; at < size; ++at) workers_[0].out[at] += workers_[t].out[at];
        }
    }

    // The first feature of a part that has its share of the cells.
    std::size_t split(std::size_t t, std::size_t threads) const {
        if (t == threads) return starts_.size() - 1;
        const auto at =
            std::lower_bound(starts_.begin(), starts_.end() - 1, cells_.size() * t / threads);
        return static_cast<std::size_t>(at - starts_.begin());
    }

    // With the a_i of all classes, and all scores.
    void multiply_all(FreeVariables<Rows>& free, T Variable::* p) {
        const std::span examples = free.examples();
        const std::size_t size = examples.size() * stride_;
        values_.assign(size, T(0));
        for (std::size_t e = 0; e < examples.size(); ++e) {
            free.add_alphas(examples[e], p, std::span(values_).subspan(e * stride_, stride_));
        }
        for_all_columns(examples.size(), size, [&](std::span<const Cell> column, Worker& worker) {
            simd::for_each_pack<T>(stride_, [&]<class P>(std::size_t at, P) {
                P sum{};
                for (const auto& [e, x] : column) {
                    sum += x * simd::load<P>(values_.data() + e * stride_ + at);
                }
                for (const auto& [e, x] : column) {
                    T* to = worker.out.data() + e * stride_ + at;
                    simd::store(to, simd::load<P>(to) + x * sum);
                }
            });
        });
        for (std::size_t e = 0; e < examples.size(); ++e) {
            for_each_margin(problem_.machine, problem_.k, examples[e].y,
                            workers_[0].out.data() + e * stride_, free.of(examples[e]),
                            [](Variable& v, T along) { v.curved = along; });
        }
    }

    void multiply_listed(FreeVariables<Rows>& free, T Variable::* p) {
        const std::span variables = free.all();
        values_.resize(variables.size());
        for (std::size_t at = 0; at < variables.size(); ++at) values_[at] = variables[at].*p;
        for_all_columns(free.examples().size(), variables.size(),
                        [&](std::span<const Cell> column, Worker& worker) {
                            exchange(column, free.examples(), worker);
                        });
        for (std::size_t at = 0; at < variables.size(); ++at) {
            variables[at].curved = workers_[0].out[at];
        }
    }

    void exchange(std::span<const Cell> column, std::span<const FreeExample> examples,
                  Worker& worker) const {
        const Machine& machine = problem_.machine;
        T* V = worker.row.data();
        for (const auto& [e, x] : column) {
            const FreeExample& example = examples[e];
            for (std::uint32_t at = example.first; at < example.last; ++at) {
                machine.for_each_alpha(example.y, classes_[at], x * values_[at],
                                       [&](std::int32_t c, T change) { V[c] += change; });
            }
        }
        T mean = 0;
        if (machine.zero_sum) {
            for (const T v : worker.row) mean += v;
            mean /= T(problem_.k);
        }
        for (const auto& [e, x] : column) {
            const FreeExample& example = examples[e];
            const T own = V[example.y], base = machine.base(own, mean);
            for (std::uint32_t at = example.first; at < example.last; ++at) {
                const std::int32_t c = classes_[at];
                worker.out[at] += x * (c == example.y ? own - mean : base - V[c]);
            }
        }
        std::fill(worker.row.begin(), worker.row.end(), T(0));
    }

    const LinearProblem<Rows>& problem_;
    std::size_t stride_;
    bool is_listed_ = false;
    std::vector<std::size_t> starts_;  // of the columns, the constant feature last
    std::vector<Cell> cells_;
    std::vector<std::int32_t> classes_;
    std::vector<T> values_;
    std::vector<Worker> workers_;
};

}  // namespace polymargin
