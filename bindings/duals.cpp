#include "duals.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "machine.hpp"
#include "rows.hpp"

namespace polymargin::python {

namespace {

using Range = std::pair<std::size_t, std::size_t>;  // first, and behind the last one

void check_range(const Range& range, std::size_t size) {
    if (range.first > range.second || range.second > size) {
        throw nb::value_error("a part has to be inside of the dual variables");
    }
}

// (indptr, classes, values) of some rows and classes, these numbered from 0.
nb::tuple part(const AnyDuals& any, const Range& rows, const Range& classes) {
    return std::visit(
        [&](const auto& duals) {
            using T = typename std::decay_t<decltype(duals)>::value_type;
            check_range(rows, duals.size());
            check_range(classes, duals.classes());
            std::vector<std::int64_t> indptr{0};
            std::vector<std::int32_t> columns;
            std::vector<T> values;
            for (std::size_t i = rows.first; i < rows.second; ++i) {
                duals.for_each(i, [&](std::int32_t c, T value) {
                    const auto at = static_cast<std::size_t>(c);
                    if (at < classes.first || at >= classes.second) return;
                    columns.push_back(static_cast<std::int32_t>(at - classes.first));
                    values.push_back(value);
                });
                indptr.push_back(static_cast<std::int64_t>(columns.size()));
            }
            return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(columns)),
                                  to_numpy(std::move(values)));
        },
        any.duals);
}

nb::object entries(const AnyDuals& any) {
    const auto [n, k] =
        std::visit([](const auto& duals) { return std::pair(duals.size(), duals.classes()); },
                   any.duals);
    const nb::tuple all = part(any, {0, n}, {0, k});
    return nb::make_tuple(k, all[0], all[1], all[2]);
}

// Others in the place of a part; columns ascend in each row.
void set_part(AnyDuals& any, const Range& rows, const Range& classes, const nb::tuple& entries) {
    const auto indptr = nb::cast<Vector<std::int64_t>>(entries[0]);
    const auto columns = nb::cast<Vector<std::int32_t>>(entries[1]);
    std::visit(
        [&](auto& duals) {
            using T = typename std::decay_t<decltype(duals)>::value_type;
            const auto values = nb::cast<Vector<T>>(entries[2]);
            check_range(rows, duals.size());
            check_range(classes, duals.classes());
            const auto fail = [] { throw nb::value_error("the dual variables are inconsistent"); };
            const std::size_t n = rows.second - rows.first, k = classes.second - classes.first;
            if (indptr.size() != n + 1 || columns.size() != values.size()) fail();
            const auto first = static_cast<std::int32_t>(classes.first);
            const auto last = static_cast<std::int32_t>(classes.second);
            std::vector<DualEntry<T>> row;
            for (std::size_t e = 0; e < n; ++e) {
                std::int64_t p = indptr.data()[e];
                const std::int64_t end = indptr.data()[e + 1];
                if (p < 0 || p > end || std::size_t(end) > values.size()) fail();
                row.clear();
                std::int32_t next = 0;  // the smallest column that may follow
                const auto take = [&] {
                    for (; p < end; ++p) {
                        const std::int32_t c = columns.data()[p];
                        if (c < next || std::size_t(c) >= k) fail();
                        row.push_back({first + c, values.data()[p]});
                        next = c + 1;
                    }
                };
                duals.for_each(rows.first + e, [&](std::int32_t c, T value) {
                    if (c >= first) take();
                    if (c < first || c >= last) row.push_back({c, value});
                });
                take();
                duals.assign(rows.first + e, row);
            }
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
        .def("part", &part, nb::arg("rows"), nb::arg("classes"))
        .def("set_part", &set_part, nb::arg("rows"), nb::arg("classes"), nb::arg("entries"))
        .def("alphas", &alphas, nb::arg("machine"), nb::arg("labels"))
        .def("support", [](const AnyDuals& any) { return to_numpy(support(any)); })
        .def("__getstate__", &entries)
        .def("__setstate__",
             [](AnyDuals& any, const nb::tuple& state) { new (&any) AnyDuals(restore(state)); });
}

}  // namespace polymargin::python
