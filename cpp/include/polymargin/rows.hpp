// Views of the examples: n rows with d features, dense or sparse. They own nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace polymargin {

// Asks for the first cache lines; the hardware follows a longer run by itself.
[[gnu::always_inline]] inline void prefetch_lines(const void* first, std::size_t bytes) {
    const char* line = static_cast<const char*>(first);
    for (std::size_t at = 0; at < bytes && at < 2048; at += 64) __builtin_prefetch(line + at);
}

// One example as a list of (feature, value); a dense row lists every feature.
template <class T>
struct DenseRow {
    using value_type = T;
    const T* values;
    std::size_t count;

    std::size_t size() const { return count; }
    std::size_t index(std::size_t p) const { return p; }
    T value(std::size_t p) const { return values[p]; }
};

template <class T, class Index>
struct SparseRow {
    using value_type = T;
    const T* values;
    const Index* indices;
    std::size_t count;

    std::size_t size() const { return count; }
    std::size_t index(std::size_t p) const { return static_cast<std::size_t>(indices[p]); }
    T value(std::size_t p) const { return values[p]; }
};

// Dense rows of any strides. A row that is not contiguous is gathered into the caller's scratch.
template <class T>
class DenseRows {
public:
    using value_type = T;
    static constexpr bool is_sparse = false;

    DenseRows(const T* data, std::size_t n, std::size_t d, std::ptrdiff_t row_stride,
              std::ptrdiff_t column_stride)
        : data_(data), n_(n), d_(d), row_stride_(row_stride), column_stride_(column_stride) {}

    std::size_t size() const { return n_; }
    std::size_t features() const { return d_; }
    std::size_t scratch_size() const { return column_stride_ == 1 ? 0 : d_; }

    DenseRow<T> row(std::size_t i, T* scratch) const {
        const T* first = data_ + static_cast<std::ptrdiff_t>(i) * row_stride_;
        if (column_stride_ == 1) return {first, d_};
        for (std::size_t j = 0; j < d_; ++j) {
            scratch[j] = first[static_cast<std::ptrdiff_t>(j) * column_stride_];
        }
        return {scratch, d_};
    }

    [[gnu::always_inline]] void prefetch(std::size_t i) const {
        const T* first = data_ + static_cast<std::ptrdiff_t>(i) * row_stride_;
        if (column_stride_ == 1) prefetch_lines(first, d_ * sizeof(T));
    }
    [[gnu::always_inline]] void prefetch_contents(std::size_t) const {}

private:
    const T* data_;
    std::size_t n_, d_;
    std::ptrdiff_t row_stride_, column_stride_;
};

// Compressed sparse rows. Indices may be unsorted and may repeat: repeated entries add up.
template <class T, class Index>
class SparseRows {
public:
    using value_type = T;
    static constexpr bool is_sparse = true;

    SparseRows(const T* values, const Index* indices, const Index* offsets, std::size_t n,
               std::size_t d)
        : values_(values), indices_(indices), offsets_(offsets), n_(n), d_(d) {}

    std::size_t size() const { return n_; }
    std::size_t features() const { return d_; }
    std::size_t scratch_size() const { return 0; }

    SparseRow<T, Index> row(std::size_t i, T*) const {
        const auto first = static_cast<std::size_t>(offsets_[i]);
        const auto last = static_cast<std::size_t>(offsets_[i + 1]);
        return {values_ + first, indices_ + first, last - first};
    }

    [[gnu::always_inline]] void prefetch(std::size_t i) const { __builtin_prefetch(&offsets_[i]); }
    [[gnu::always_inline]] void prefetch_contents(std::size_t i) const {
        const auto first = static_cast<std::size_t>(offsets_[i]);
        const auto count = static_cast<std::size_t>(offsets_[i + 1]) - first;
        prefetch_lines(values_ + first, count * sizeof(T));
        prefetch_lines(indices_ + first, count * sizeof(Index));
    }

private:
    const T* values_;
    const Index* indices_;
    const Index* offsets_;
    std::size_t n_, d_;
};

// |x|^2 of every row, computed in double precision, repeated entries of a sparse row added up
// first. Not finite where a value is not, or its square.
template <class Result = double, class Rows>
std::vector<Result> squared_norms(const Rows& rows) {
    std::vector<Result> norms(rows.size());
    std::vector<typename Rows::value_type> scratch(rows.scratch_size());
    std::vector<double> merged;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = rows.row(i, scratch.data());
        double norm = 0;
        bool ascending = true;
        for (std::size_t p = 0; p < row.size(); ++p) {
            const double value = row.value(p);
            norm += value * value;
            if constexpr (Rows::is_sparse) ascending &= p == 0 || row.index(p - 1) < row.index(p);
        }
        if (!ascending) {
            merged.resize(rows.features());
            for (std::size_t p = 0; p < row.size(); ++p) merged[row.index(p)] += row.value(p);
            norm = 0;
            for (std::size_t p = 0; p < row.size(); ++p) {
                const double value = merged[row.index(p)];
                norm += value * value;
                merged[row.index(p)] = 0;
            }
        }
        norms[i] = static_cast<Result>(norm);
    }
    return norms;
}

}  // namespace polymargin
