#include "duals.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "machine.hpp"
#include "rows.hpp"

namespace polymargin::python {

namespace {

nb::object entries(const AnyDuals& any) {
    return std::visit(
        [](const auto& duals) -> nb::object {
            using T = typename std::decay_t<decltype(duals)>::value_type;
            std::vector<std::int64_t> indptr{0};
            std::vector<std::int32_t> classes;
            std::vector<T> values;
            for (std::size_t i = 0; i < duals.size(); ++i) {
                duals.for_each(i, [&](std::int32_t c, T value) {
                    classes.push_back(c);
                    values.push_back(value);
                });
                indptr.push_back(static_cast<std::int64_t>(classes.size()));
            }
            return nb::make_tuple(duals.classes(), to_numpy(std::move(indptr)),
                                  to_numpy(std::move(classes)), to_numpy(std::move(values)));
        },
        any.duals);
}

template <class T>
Duals<T> from_entries(std::size_t k, const Vector<std::int64_t>& indptr,
                      const Vector<std::int32_t>& classes, const Vector<T>& values) {
    Duals<T> duals(indptr.size() - 1, k);
    std::vector<DualEntry<T>> row;
    for (std::size_t i = 0; i + 1 < indptr.size(); ++i) {
        row.clear();
        for (auto p = indptr.data()[i]; p < indptr.data()[i + 1]; ++p) {
            if (p < 0 || std::size_t(p) >= classes.size() || std::size_t(p) >= values.size() ||
                classes.data()[p] < 0 || std::size_t(classes.data()[p]) >= k) {
                throw nb::value_error("the stored dual variables are inconsistent");
            }
            row.push_back({classes.data()[p], values.data()[p]});
        }
        duals.assign(i, row);
    }
    return duals;
}

AnyDuals zeros(std::size_t n, std::size_t k, const nb::object& dtype) {
    const std::string kind = nb::cast<std::string>(nb::str(nb::getattr(dtype, "name")));
    if (kind == "float32") return {Duals<float>(n, k)};
    if (kind == "float64") return {Duals<double>(n, k)};
    throw nb::value_error("dtype is float32 or float64");
}

AnyDuals restore(const nb::tuple& state) {
    const auto k = nb::cast<std::size_t>(state[0]);
    const auto indptr = nb::cast<Vector<std::int64_t>>(state[1]);
    const auto classes = nb::cast<Vector<std::int32_t>>(state[2]);
    Vector<float> single;
    if (nb::try_cast(state[3], single, false)) {
        return {from_entries<float>(k, indptr, classes, single)};
    }
    return {from_entries<double>(k, indptr, classes, nb::cast<Vector<double>>(state[3]))};
}

nb::object alphas(const AnyDuals& any, const std::string& name,
                  const Vector<std::int32_t>& labels) {
    const Machine& machine = machine_of(name);
    return std::visit(
        [&](const auto& duals) -> nb::object {
            using T = typename std::decay_t<decltype(duals)>::value_type;
            if (labels.size() != duals.size())
                throw nb::value_error("labels need one entry per row");
            std::vector<std::int64_t> indptr{0};
            std::vector<std::int32_t> classes;
            std::vector<T> values;
            const auto add = [&](std::int32_t c, T value) {
                classes.push_back(c);
                values.push_back(value);
            };
            for (std::size_t i = 0; i < duals.size(); ++i) {
                const std::int32_t y = labels.data()[i];
                T own = 0;  // a_y
                duals.for_each(i, [&](std::int32_t c, T value) {
                    machine.for_each_alpha(y, c, value, [&](std::int32_t at, T a) {
                        own += at == y ? a : T(0);
                    });
                });
                bool pending = own != 0;
                duals.for_each(i, [&](std::int32_t c, T value) {
                    if (pending && c >= y) {
                        add(y, own);
                        pending = false;
                    }
                    if (c != y) add(c, -value);
                });
                if (pending) add(y, own);
                indptr.push_back(static_cast<std::int64_t>(classes.size()));
            }
            return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(classes)),
                                  to_numpy(std::move(values)));
        },
        any.duals);
}

std::vector<std::int64_t> support(const AnyDuals& any) {
    return std::visit(
        [](const auto& duals) {
            std::vector<std::int64_t> rows;
            for (std::size_t i = 0; i < duals.size(); ++i) {
                bool used = false;
                duals.for_each(i, [&](std::int32_t, auto) { used = true; });
                if (used) rows.push_back(static_cast<std::int64_t>(i));
            }
            return rows;
        },
        any.duals);
}

}  // namespace

void bind_duals(nb::module_& module) {
    nb::class_<AnyDuals>(module, "Duals")
        .def_static("zeros", &zeros, nb::arg("n"), nb::arg("n_classes"), nb::arg("dtype"))
        .def_prop_ro("shape",
                     [](const AnyDuals& any) {
                         return std::visit(
                             [](const auto& duals) {
                                 return std::pair(duals.size(), duals.classes());
                             },
                             any.duals);
                     })
        .def_prop_ro("nnz",
                     [](const AnyDuals& any) {
                         return std::visit([](const auto& duals) { return duals.nonzeros(); },
                                           any.duals);
                     })
        .def("alphas", &alphas, nb::arg("machine"), nb::arg("labels"))
        .def("support", [](const AnyDuals& any) { return to_numpy(support(any)); })
        .def("__getstate__", &entries)
        .def("__setstate__",
             [](AnyDuals& any, const nb::tuple& state) { new (&any) AnyDuals(restore(state)); });
}

}  // namespace polymargin::python
