// The weights U by feature, the k classes of a feature contiguous: scores of an example and the
// update after a block solve are then straight vector loops over classes. A zero-sum machine
// keeps U un-centred while it is trained.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

template <class T>
class Weights {
public:
    Weights(std::size_t features, std::size_t classes)
        : features_(features), classes_(classes), stride_(simd::padded<T>(classes)) {
        // calloc hands out untouched zero pages: features that never occur cost no memory.
        constexpr std::size_t line = 64;
        buffer_.reset(std::calloc(features_ * stride_ * sizeof(T) + line, 1));
        if (!buffer_) throw std::bad_alloc();
        const auto address = reinterpret_cast<std::uintptr_t>(buffer_.get());
        data_ = reinterpret_cast<T*>((address + line - 1) / line * line);
    }

    Weights copy() const {
        Weights other(features_, classes_);
        std::memcpy(other.data_, data_, features_ * stride_ * sizeof(T));
        return other;
    }

    T* row(std::size_t j) { return data_ + j * stride_; }
    const T* row(std::size_t j) const { return data_ + j * stride_; }
    std::size_t features() const { return features_; }
    std::size_t classes() const { return classes_; }
    std::size_t stride() const { return stride_; }

    void clear() { std::memset(data_, 0, features_ * stride_ * sizeof(T)); }

    // The classes first <= c < last; writes only what is not 0, to leave untouched pages so.
    void clear(std::size_t first, std::size_t last) {
        for (std::size_t j = 0; j < features_; ++j) {
            for (std::size_t c = first; c < last; ++c) {
                if (row(j)[c] != 0) row(j)[c] = 0;
            }
        }
    }

    void scale(T factor) {
        for (std::size_t at = 0; at < features_ * stride_; ++at) data_[at] *= factor;
    }

    void add(T factor, const Weights& other) {
        for (std::size_t at = 0; at < features_ * stride_; ++at) {
            data_[at] += factor * other.data_[at];
        }
    }

    // Of the weights, or of the weights centred over classes.
    double squared_norm(bool centred) const {
        CompensatedSum norm;
        for (std::size_t j = 0; j < features_; ++j) {
            const T* u = row(j);
            double square = 0, sum = 0;
            for (std::size_t c = 0; c < classes_; ++c) {
                square += double(u[c]) * u[c];
                sum += u[c];
            }
            norm += centred ? square - sum * sum / static_cast<double>(classes_) : square;
        }
        return norm.value();
    }

    // Subtracts the mean over classes from every feature's row.
    void centre() {
        for (std::size_t j = 0; j < features_; ++j) {
            T* u = row(j);
            double sum = 0;
            for (std::size_t c = 0; c < classes_; ++c) sum += u[c];
            const T mean = static_cast<T>(sum / static_cast<double>(classes_));
            if (mean == 0) continue;
            for (std::size_t c = 0; c < classes_; ++c) u[c] -= mean;
        }
    }

private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::size_t features_, classes_, stride_;
    std::unique_ptr<void, Free> buffer_;
    T* data_;
};

}  // namespace polymargin
