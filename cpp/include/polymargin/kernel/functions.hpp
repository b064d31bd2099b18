// Kernels that follow from the inner product of two rows and their squared norms.
//
//     linear            x^T z
//     rbf               exp(-gamma |x - z|^2)
//     poly              (gamma x^T z + coef0)^degree
//     normalized-poly   K(x, z) / sqrt(K(x, x) K(z, z)) with the polynomial kernel
//     sigmoid           tanh(gamma x^T z + coef0)
//     exponential       exp(-gamma distance), from a distance in place of the product
//
// A bias adds 1 to all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "polymargin/kernel/exp.hpp"
#include "polymargin/parallel.hpp"

namespace polymargin {

enum class KernelKind { linear, rbf, poly, normalized_poly, sigmoid, exponential };

struct KernelFunction {
    KernelKind kind;
    double gamma, coef0;
    int degree;
    bool bias;
};

namespace kernel {

template <class P>
[[gnu::always_inline]] inline P power(P base, int exponent) {
    P result = simd::splat<P>(simd::lane_type<P>(1));
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

// Of one row of products: norm is |x|^2, norms are |z|^2.
template <class T>
class RowTransform {
public:
    RowTransform(const KernelFunction& function, T norm)
        : kind_(function.kind),
          gamma_(T(function.gamma)),
          coef0_(T(function.coef0)),
          norm_(norm),
          own_(T(function.gamma) * norm + T(function.coef0)),
          bias_(function.bias ? T(1) : T(0)),
          degree_(function.degree) {}

    template <class P>
    [[gnu::always_inline]] P operator()(P product, P norms) const {
        using enum KernelKind;
        switch (kind_) {
            case linear: return product + bias_;
            case rbf: {
                // What rounding can leave of equal rows is no distance.
                const P both = norm_ + norms, distance = both - 2 * product;
                const P least = both * (8 * std::numeric_limits<T>::epsilon());
                return simd::exp(-gamma_ * (distance > least ? distance : P{})) + bias_;
            }
            case poly: return power(gamma_ * product + coef0_, degree_) + bias_;
            case normalized_poly: {
                P cosine = gamma_ * product + coef0_;
                const P other = gamma_ * norms + coef0_;
                const T root = std::sqrt(own_);
                for (int lane = 0; lane < simd::lanes_of<P>; ++lane) {
                    const bool zero = !(own_ > 0 && other[lane] > 0);
                    cosine[lane] = zero ? T(0) : cosine[lane] / root / std::sqrt(other[lane]);
                }
                return power(cosine, degree_) + bias_;
            }
            case sigmoid: {
                const P twice = 2 * (gamma_ * product + coef0_);
                return 1 - 2 / (simd::exp(twice) + T(1)) + bias_;
            }
            case exponential: return simd::exp(-gamma_ * product) + bias_;
        }
        __builtin_unreachable();
    }

private:
    KernelKind kind_;
    T gamma_, coef0_, norm_, own_, bias_;
    int degree_;
};

// products (m, count) with any distance between rows becomes the kernel, in place.
template <class T>
void transform(const KernelFunction& function, T* products, std::size_t m, std::size_t count,
               std::size_t stride, const T* row_norms, const T* column_norms, int threads) {
    using P = simd::Pack<T>;
    constexpr std::size_t lanes = simd::full_lanes<T>, piece = 1 << 14;
    const std::size_t pieces = (count + piece - 1) / piece;
    parallel_for(threads, m * pieces, [&](std::size_t part) {
        const std::size_t i = part / pieces, first = part % pieces * piece;
        const std::size_t last = std::min(count, first + piece);
        const RowTransform<T> apply(function, row_norms[i]);
        T* row = products + i * stride;
        std::size_t at = first;
        for (; at + lanes <= last; at += lanes) {
            simd::store(row + at, apply(simd::load<P>(row + at), simd::load<P>(column_norms + at)));
        }
        if (at < last) {
            T product[lanes] = {}, norm[lanes] = {};
            std::copy(row + at, row + last, product);
            std::copy(column_norms + at, column_norms + last, norm);
            simd::store(product, apply(simd::load<P>(product), simd::load<P>(norm)));
            std::copy_n(product, last - at, row + at);
        }
    });
}

}  // namespace kernel

}  // namespace polymargin
