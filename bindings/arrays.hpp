// Arrays of indices and matrices, and what is checked of them.
#pragma once

#include <nanobind/ndarray.h>

#include "rows.hpp"

namespace polymargin::python {

using Indices = Vector<std::int64_t>;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

// One that is written to.
template <class T>
using Changing = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <class T>
void check_rows_contiguous(const T& matrix) {
    if (matrix.shape(1) > 1 && matrix.stride(1) != 1) {
        throw nb::value_error("the rows of the matrix have to be contiguous");
    }
}

inline void check_indices(const Indices& indices, std::size_t n) {
    for (std::size_t at = 0; at < indices.size(); ++at) {
        const std::int64_t i = indices.data()[at];
        if (i < 0 || std::size_t(i) >= n) throw nb::value_error("an index is out of range");
    }
}

}  // namespace polymargin::python
