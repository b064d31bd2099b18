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

// product_v = nu_v^T f for the variables of an example, f being what holds for its classes.
template <class Rows, class T>
void set_margins(const LinearProblem<Rows>& problem, const FreeVariables<Rows>& free,
                 const FreeExample& example, const T* f, std::span<T> product) {
    T mean = 0;
    if (problem.machine.zero_sum) {
        for (int c = 0; c < problem.k; ++c) mean += f[c];
        mean /= T(problem.k);
    }
    const T own = f[example.y], base = problem.machine.base(own, mean);
    for (const std::uint32_t v : example.variables()) {
        const std::int32_t c = free.classes[v];
        product[v] = c == example.y ? own - mean : base - f[c];
    }
}

template <class Rows>
class RowCurvature {
public:
    using T = typename Rows::value_type;

    RowCurvature(const LinearProblem<Rows>& problem, int threads)
        : problem_(problem), V_(problem.template weights<DenseWeights<T>>()) {
        for (int t = 0; t < threads; ++t) workers_.emplace_back(problem);
    }

    void begin(const FreeVariables<Rows>&) {}

    double visits() const { return 1; }  // that a product costs, for each example

    // product = H p.
    void multiply(const FreeVariables<Rows>& free, std::span<const T> p, std::span<T> product) {
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
                set_margins<Rows, T>(problem_, free, example, scores.data(), product);
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

    void spread(Worker& worker, const FreeVariables<Rows>& free, const FreeExample& example,
                std::span<const T> p) {
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

    ColumnCurvature(const LinearProblem<Rows>& problem, int threads)
        : problem_(problem), stride_(simd::padded<T>(problem.k)), workers_(threads) {
        for (Worker& worker : workers_) worker.row.resize(stride_);
    }

    // Turns the rows of the examples with free variables into columns.
    void begin(const FreeVariables<Rows>& free) {
        const std::span examples = free.examples();
        is_listed_ = apart * free.size() <= stride_ * examples.size();
        const auto all = static_cast<double>(examples.size()) * problem_.k;
        visits_ = is_listed_ ? static_cast<double>(free.size() + examples.size()) / all : 1;
        if (is_listed_) list_classes(free);
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
            const std::uint32_t place = is_listed_ ? first_entry(examples[e], e) : e;
            const std::uint32_t count = examples[e].size() + (problem_.machine.relative ? 1 : 0);
            for (std::size_t p = 0; p < row.size(); ++p) {
                cells_[next[row.index(p)]++] = {place, count, row.value(p)};
            }
            if (problem_.bias) cells_[next.back()++] = {place, count, T(1)};
        }
    }

    // By the multiply-adds of a product and of a visit.
    double visits() const { return visits_; }

    // product = H p.
    void multiply(const FreeVariables<Rows>& free, std::span<const T> p, std::span<T> product) {
        if (is_listed_) {
            multiply_listed(free, p, product);
        } else {
            multiply_all(free, p, product);
        }
    }

private:
    struct Cell {
        std::uint32_t place;  // of the first entry, or of the example among those with variables
        std::uint32_t count;  // of entries
        T x;
    };
    // a_c of an example, for a class with a free variable or its own.
    struct Entry {
        T alpha;
        std::int32_t c;
    };
    struct Worker {
        std::vector<T> row;  // of V
        std::vector<T> out;  // of all threads but the first
    };

    // A variable by itself takes about as long as this many of all in order.
    static constexpr std::size_t apart = 8;

    // For each column on some thread; `out` is what they add up to.
    template <class Body>
    void for_all_columns(std::size_t examples, std::span<T> out, Body&& body) {
        const std::size_t threads = crew_for(examples, workers_.size());
        run_crew(threads, [&](std::size_t t) {
            Worker& worker = workers_[t];
            if (t > 0) worker.out.resize(out.size());
            const std::span<T> part = t > 0 ? std::span<T>(worker.out) : out;
            std::ranges::fill(part, T(0));
            const std::size_t last = split(t + 1, threads);
            for (std::size_t j = split(t, threads); j < last; ++j) {
                const std::span cells(cells_);
                body(cells.subspan(starts_[j], starts_[j + 1] - starts_[j]), worker.row.data(),
                     part.data());
            }
        });
        for (std::size_t t = 1; t < threads; ++t) {
            for (std::size_t at = 0; at < out.size(); ++at) out[at] += workers_[t].out[at];
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
    void multiply_all(const FreeVariables<Rows>& free, std::span<const T> p, std::span<T> product) {
        const std::span examples = free.examples();
        const std::size_t size = examples.size() * stride_;
        alphas_.assign(size, T(0));
        scores_.resize(size);
        for (std::size_t e = 0; e < examples.size(); ++e) {
            free.add_alphas(examples[e], p, std::span(alphas_).subspan(e * stride_, stride_));
        }
        for_all_columns(examples.size(), scores_, [&](std::span<const Cell> column, T*, T* out) {
            simd::for_each_pack<T>(stride_, [&]<class P>(std::size_t at, P) {
                P sum{};
                for (const auto& [e, count, x] : column) {
                    sum += x * simd::load<P>(alphas_.data() + e * stride_ + at);
                }
                for (const auto& [e, count, x] : column) {
                    T* to = out + e * stride_ + at;
                    simd::store(to, simd::load<P>(to) + x * sum);
                }
            });
        });
        for (std::size_t e = 0; e < examples.size(); ++e) {
            set_margins<Rows, T>(problem_, free, examples[e], scores_.data() + e * stride_,
                                 product);
        }
    }

    // An example's own class comes first where all its variables touch it.
    std::uint32_t first_entry(const FreeExample& example, std::size_t e) const {
        return example.first + static_cast<std::uint32_t>(problem_.machine.relative ? e : 0);
    }

    void list_classes(const FreeVariables<Rows>& free) {
        entries_.clear();
        for (const FreeExample& example : free.examples()) {
            if (problem_.machine.relative) entries_.push_back({T(0), example.y});
            for (const std::uint32_t v : example.variables()) {
                entries_.push_back({T(0), free.classes[v]});
            }
        }
        scores_.resize(entries_.size());
    }

    void multiply_listed(const FreeVariables<Rows>& free, std::span<const T> p,
                         std::span<T> product) {
        const bool relative = problem_.machine.relative;
        const std::span examples = free.examples();
        for (std::size_t e = 0; e < examples.size(); ++e) {
            Entry* entry = &entries_[first_entry(examples[e], e)];
            T sum = 0;
            for (const std::uint32_t v : examples[e].variables()) {
                sum += p[v];
                Entry& own = entry[v - examples[e].first + relative];
                own.alpha = !relative && own.c == examples[e].y ? p[v] : -p[v];
            }
            if (relative) entry->alpha = sum;
        }
        for_all_columns(examples.size(), scores_, [&](std::span<const Cell> column, T* V, T* out) {
            exchange(column, V, out);
        });
        for (std::size_t e = 0; e < examples.size(); ++e) {
            const std::size_t first = first_entry(examples[e], e);
            const T own = relative ? scores_[first] : T(0);
            for (const std::uint32_t v : examples[e].variables()) {
                const std::size_t at = first + v - examples[e].first + relative;
                product[v] =
                    !relative && entries_[at].c == examples[e].y ? scores_[at] : own - scores_[at];
            }
        }
    }

    // Adds what a feature contributes to the scores, centred where the machine is zero-sum. V, its
    // row, is zero before and after.
    void exchange(std::span<const Cell> column, T* V, T* out) const {
        for (std::size_t cell = 0; cell < column.size(); ++cell) {
            ask_ahead(column, cell, out);
            const auto [place, count, x] = column[cell];
            const Entry* entries = entries_.data() + place;
            for (std::uint32_t at = 0; at < count; ++at) V[entries[at].c] += x * entries[at].alpha;
        }
        if (problem_.machine.zero_sum) {
            T mean = 0;
            for (std::size_t c = 0; c < stride_; ++c) mean += V[c];
            mean /= T(problem_.k);
            for (int c = 0; c < problem_.k; ++c) V[c] -= mean;
        }
        for (const auto& [place, count, x] : column) {
            const Entry* entries = entries_.data() + place;
            for (std::uint32_t at = 0; at < count; ++at) out[place + at] += x * V[entries[at].c];
        }
        std::fill_n(V, stride_, T(0));
    }

    // For what cells further on need.
    [[gnu::always_inline]] void ask_ahead(std::span<const Cell> column, std::size_t cell,
                                          const T* out) const {
        constexpr std::size_t ahead = 8;
        if (cell + ahead >= column.size()) return;
        const std::uint32_t place = column[cell + ahead].place;
        __builtin_prefetch(entries_.data() + place);
        __builtin_prefetch(out + place);
    }

    const LinearProblem<Rows>& problem_;
    std::size_t stride_;
    bool is_listed_ = false;
    double visits_ = 1;
    std::vector<std::size_t> starts_;  // of the columns, the constant feature last
    std::vector<Cell> cells_;
    std::vector<Entry> entries_;      // of all examples
    std::vector<T> alphas_, scores_;  // of all classes, or scores of the entries
    std::vector<Worker> workers_;
};

}  // namespace polymargin
