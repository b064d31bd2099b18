// Rows as Python sees them: a view that keeps the arrays alive.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "polymargin/rows.hpp"

namespace polymargin::python {

namespace nb = nanobind;

using AnyRows = std::variant<DenseRows<float>, DenseRows<double>,                               //
                             SparseRows<float, std::int32_t>, SparseRows<float, std::int64_t>,  //
                             SparseRows<double, std::int32_t>, SparseRows<double, std::int64_t>>;

struct Rows {
    AnyRows view;
    nb::object owners;  // the arrays behind it
    mutable std::vector<double> known_norms = {};

    std::size_t size() const {
        return std::visit([](const auto& rows) { return rows.size(); }, view);
    }
    std::size_t features() const {
        return std::visit([](const auto& rows) { return rows.features(); }, view);
    }
    bool is_float() const {
        return std::visit(
            [](const auto& rows) {
                using View = std::decay_t<decltype(rows)>;
                return std::is_same_v<typename View::value_type, float>;
            },
            view);
    }
    // |x_i|^2, computed once: the checks of the features and the solvers share them.
    std::span<const double> norms() const {
        if (known_norms.empty()) {
            known_norms = std::visit([](const auto& rows) { return squared_norms(rows); }, view);
        }
        return known_norms;
    }
};

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The same item n times needs no memory with a stride of 0.
template <class T>
using Strided = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;

// A NumPy array that owns a copy of the items.
template <class T>
nb::object to_numpy(std::vector<T>&& items) {
    auto* owner = new std::vector<T>(std::move(items));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(owner->data(), {owner->size()}, capsule).cast();
}

void bind_rows(nb::module_& module);
void bind_block(nb::module_& module);
void bind_duals(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_local(nb::module_& module);
void bind_dealt(nb::module_& module);
void bind_stream(nb::module_& module);
void bind_predict(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_kernel_values(nb::module_& module);
void bind_decomposition(nb::module_& module);

}  // namespace polymargin::python
