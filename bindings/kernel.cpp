#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <string>

#include "duals.hpp"
#include "linear.hpp"
#include "polymargin/kernel/dual.hpp"
#include "polymargin/kernel/functions.hpp"
#include "polymargin/kernel/products.hpp"

namespace polymargin::python {

namespace {

using Indices = Vector<std::int64_t>;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T>
using WritableMatrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

KernelKind kind_of(const std::string& name) {
    using enum KernelKind;
    const std::pair<const char*, KernelKind> known[] = {{"linear", linear},
                                                        {"rbf", rbf},
                                                        {"poly", poly},
                                                        {"normalized-poly", normalized_poly},
                                                        {"sigmoid", sigmoid},
                                                        {"exponential", exponential}};
    for (const auto& [word, kind] : known) {
        if (name == word) return kind;
    }
    throw nb::value_error(("no kernel is called '" + name + "'").c_str());
}

template <class T>
void check_rows_contiguous(const T& matrix) {
    if (matrix.shape(1) > 1 && matrix.stride(1) != 1) {
        throw nb::value_error("the rows of the matrix have to be contiguous");
    }
}

std::span<const std::int64_t> span_of(const Indices& indices) {
    return {indices.data(), indices.size()};
}

void check_indices(const Indices& indices, std::size_t n) {
    for (std::size_t at = 0; at < indices.size(); ++at) {
        const std::int64_t i = indices.data()[at];
        if (i < 0 || std::size_t(i) >= n) throw nb::value_error("an index is out of range");
    }
}

template <class T>
void apply_kernel(const WritableMatrix<T>& products, const Vector<T>& row_norms,
                  const Vector<T>& column_norms, const std::string& name, double gamma,
                  double coef0, int degree, bool bias, int threads) {
    check_rows_contiguous(products);
    if (row_norms.size() != products.shape(0) || column_norms.size() != products.shape(1)) {
        throw nb::value_error("one norm is needed per row and per column");
    }
    const KernelFunction function{kind_of(name), gamma, coef0, degree, bias};
    const nb::gil_scoped_release release;
    kernel::transform(function, products.data(), products.shape(0), products.shape(1),
                      static_cast<std::size_t>(products.stride(0)), row_norms.data(),
                      column_norms.data(), threads);
}

template <template <class> class Measure, class T>
void measure(const Rows& left, const Rows& right, const WritableMatrix<T>& out, int threads) {
    check_rows_contiguous(out);
    if (out.shape(0) != left.size() || out.shape(1) != right.size() ||
        left.features() != right.features()) {
        throw nb::value_error("the shapes of the rows and of the result differ");
    }
    std::visit(
        [&](const auto& a, const auto& b) {
            using A = typename std::decay_t<decltype(a)>::value_type;
            using B = typename std::decay_t<decltype(b)>::value_type;
            if constexpr (std::is_same_v<A, T> && std::is_same_v<B, T>) {
                const nb::gil_scoped_release release;
                kernel::fill<Measure>(a, b, out.data(), static_cast<std::size_t>(out.stride(0)),
                                      threads);
            } else {
                throw nb::type_error("rows and result differ in precision");
            }
        },
        left.view, right.view);
}

// out[r, c] = matrix[rows[r], columns[c]].
template <class T>
void gather(const Matrix<T>& matrix, const Indices& rows, const Indices& columns,
            const WritableMatrix<T>& out) {
    check_indices(rows, matrix.shape(0));
    check_indices(columns, matrix.shape(1));
    if (out.shape(0) != rows.size() || out.shape(1) != columns.size()) {
        throw nb::value_error("the result needs one entry per row and column");
    }
    const nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const T* from = matrix.data() + rows.data()[r] * matrix.stride(0);
        T* to = out.data() + static_cast<std::int64_t>(r) * out.stride(0);
        for (std::size_t c = 0; c < columns.size(); ++c) {
            to[static_cast<std::int64_t>(c) * out.stride(1)] =
                from[columns.data()[c] * matrix.stride(1)];
        }
    }
}

// The arrays of a problem and what is computed from them.
template <class T>
struct OwnedDual {
    std::vector<std::int32_t> labels;
    std::vector<double> upper;
    std::vector<T> diagonal;
    std::unique_ptr<KernelDual<T>> dual;
};

class PythonKernelDual {
    // These two stand first: what calls them deduces its result.
    template <class Body>
    auto visit(Body&& body) {
        return std::visit([&](auto& own) { return body(*own.dual); }, own_);
    }

    // Calls body with this state and that of a part of it.
    template <class Body>
    auto visit_with(const PythonKernelDual& part, const Indices& examples, Body&& body) const {
        return std::visit(
            [&]<class T>(const OwnedDual<T>& whole) {
                const auto* other = std::get_if<OwnedDual<T>>(&part.own_);
                check_indices(examples, whole.labels.size());
                if (!other || other->labels.size() != examples.size()) {
                    throw nb::value_error("the part belongs to other examples");
                }
                const nb::gil_scoped_release release;
                return body(*whole.dual, *other->dual);
            },
            own_);
    }

public:
    PythonKernelDual(const Vector<std::int32_t>& labels, const Strided<double>& upper, int k,
                     const std::string& name, nb::object diagonal, const Options& options,
                     const AnyDuals* warm) {
        check_labels(labels, upper, labels.size(), k);
        Vector<float> single;
        if (nb::try_cast(diagonal, single, false)) {
            make<float>(labels, upper, k, name, single, options, warm);
        } else {
            make<double>(labels, upper, k, name, nb::cast<Vector<double>>(diagonal), options, warm);
        }
    }

    // The state of some examples, all others fixed.
    PythonKernelDual part(const Indices& examples) const {
        return std::visit(
            [&]<class T>(const OwnedDual<T>& whole) {
                const KernelProblem<T>& problem = whole.dual->problem();
                check_indices(examples, problem.size());
                OwnedDual<T> own;
                for (std::size_t e = 0; e < examples.size(); ++e) {
                    const std::int64_t i = examples.data()[e];
                    own.labels.push_back(whole.labels[i]);
                    own.upper.push_back(whole.upper[i]);
                    own.diagonal.push_back(whole.diagonal[i]);
                }
                const KernelProblem<T> same{own.labels, own.upper, own.diagonal, problem.k,
                                            problem.machine};
                own.dual = std::make_unique<KernelDual<T>>(same, *whole.dual, span_of(examples));
                return PythonKernelDual(std::move(own));
            },
            own_);
    }

    double gain(const PythonKernelDual& part, const Indices& examples) const {
        return visit_with(part, examples, [&](auto& whole, auto& other) {
            return whole.gain(other, span_of(examples));
        });
    }

    void absorb(const PythonKernelDual& part, const Indices& examples) {
        visit_with(part, examples,
                   [&](auto& whole, auto& other) { whole.absorb(other, span_of(examples)); });
    }

    using Values = nb::ndarray<double, nb::ndim<1>, nb::c_contig>;

    std::tuple<double, double, double> check(const Values& gaps, const Values& violations) {
        return visit([&](auto& dual) {
            const std::size_t n = dual.problem().size();
            if (gaps.size() != n || violations.size() != n) {
                throw nb::value_error("gaps and violations need n entries");
            }
            const nb::gil_scoped_release release;
            const Certificate c =
                dual.check(std::span(gaps.data(), n), std::span(violations.data(), n));
            return std::tuple(c.primal, c.dual, c.violation);
        });
    }

    std::int64_t solve(const Indices& examples, nb::object gram, double fraction, int passes) {
        return visit([&](auto& dual) {
            using T = typename std::decay_t<decltype(dual.duals())>::value_type;
            const auto matrix = nb::cast<nb::ndarray<const T, nb::ndim<2>, nb::c_contig>>(gram);
            check_indices(examples, dual.problem().size());
            if (matrix.shape(0) != examples.size() || matrix.shape(1) != examples.size()) {
                throw nb::value_error("the Gram matrix needs a row and a column per example");
            }
            const nb::gil_scoped_release release;
            return dual.solve(span_of(examples), matrix.data(), {fraction, passes});
        });
    }

    void change_from_zero(const Indices& examples) {
        visit([&](auto& dual) {
            check_indices(examples, dual.problem().size());
            dual.change_from_zero(span_of(examples));
        });
    }

    // Positions, among the examples of the last call, of those that changed.
    nb::object changed() {
        return visit([&](auto& dual) {
            std::vector<std::int64_t> positions;
            for (std::size_t e = 0; e < dual.changes().size(); ++e) {
                if (!dual.changes().empty(e)) positions.push_back(std::int64_t(e));
            }
            return to_numpy(std::move(positions));
        });
    }

    void add_scores(const Indices& which, nb::object kernel, const Indices& rows,
                    std::size_t first) {
        visit([&](auto& dual) {
            using T = typename std::decay_t<decltype(dual.duals())>::value_type;
            const auto matrix = nb::cast<Matrix<T>>(kernel);
            check_rows_contiguous(matrix);
            check_indices(which, dual.changes().size());
            check_indices(rows, matrix.shape(0));
            if (which.size() != rows.size()) throw nb::value_error("one row is needed per change");
            if (first + matrix.shape(1) > dual.problem().size()) {
                throw nb::value_error("the kernel has columns beyond the last example");
            }
            const nb::gil_scoped_release release;
            std::vector<const T*> pointers;
            for (std::size_t r = 0; r < rows.size(); ++r) {
                pointers.push_back(matrix.data() + rows.data()[r] * matrix.stride(0));
            }
            dual.add_scores(span_of(which), pointers, first, matrix.shape(1));
        });
    }

    void clear_scores() {
        visit([](auto& dual) { dual.clear_scores(); });
    }

    // (k, n) view of the scores.
    nb::object scores(nb::handle self) {
        return visit([&](auto& dual) {
            const auto& scores = dual.scores();
            return nb::ndarray<nb::numpy, const double>(scores.of_class(0),
                                                        {std::size_t(scores.classes()),
                                                         dual.problem().size()},
                                                        self)
                .cast();
        });
    }

    AnyDuals duals() {
        return visit([](auto& dual) { return AnyDuals{dual.duals().copy()}; });
    }

    // With those of some examples taken from a part that is solved alone.
    AnyDuals duals_with(const PythonKernelDual& part, const Indices& examples) {
        AnyDuals merged;
        visit_with(part, examples, [&](auto& whole, auto& other) {
            auto duals = whole.duals().copy();
            std::vector<DualEntry<typename decltype(duals)::value_type>> scratch;
            for (std::size_t e = 0; e < examples.size(); ++e) {
                duals.assign_row(examples.data()[e], other.duals(), e, scratch);
            }
            merged.duals = std::move(duals);
        });
        return merged;
    }

private:
    template <class T>
    explicit PythonKernelDual(OwnedDual<T> own) : own_(std::move(own)) {}

    template <class T>
    void make(const Vector<std::int32_t>& labels, const Strided<double>& upper, int k,
              const std::string& name, const Vector<T>& diagonal, const Options& options,
              const AnyDuals* warm) {
        const std::size_t n = labels.size();
        if (diagonal.size() != n) throw nb::value_error("the diagonal needs one entry per row");
        OwnedDual<T> own{{labels.data(), labels.data() + n},
                         std::vector<double>(n),
                         {diagonal.data(), diagonal.data() + n},
                         nullptr};
        for (std::size_t i = 0; i < n; ++i) own.upper[i] = upper(i);
        const Machine& machine = machine_of(name);
        const LinearOptions core_options = options.for_machine(machine);
        const KernelProblem<T> problem{own.labels, own.upper, own.diagonal, k, machine};
        own.dual = std::make_unique<KernelDual<T>>(problem, start_duals<T>(problem, warm),
                                                   core_options.block, core_options.seed,
                                                   core_options.threads);
        own_ = std::move(own);
    }

    std::variant<OwnedDual<float>, OwnedDual<double>> own_;
};

template <class T>
void bind_functions(nb::module_& module) {
    module.def("apply_kernel", &apply_kernel<T>, nb::arg("products").noconvert(),
               nb::arg("row_norms").noconvert(), nb::arg("column_norms").noconvert(),
               nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"),
               nb::arg("bias"), nb::arg("n_threads") = 1);
    module.def("gather", &gather<T>, nb::arg("matrix").noconvert(), nb::arg("rows"),
               nb::arg("columns"), nb::arg("out").noconvert());
    module.def("inner_products", &measure<kernel::InnerProduct, T>, nb::arg("left"),
               nb::arg("right"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1);
    module.def("manhattan_distances", &measure<kernel::ManhattanDistance, T>, nb::arg("left"),
               nb::arg("right"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1);
}

}  // namespace

void bind_kernel(nb::module_& module) {
    bind_functions<float>(module);
    bind_functions<double>(module);
    nb::class_<PythonKernelDual>(module, "KernelDual")
        .def(nb::init<const Vector<std::int32_t>&, const Strided<double>&, int, const std::string&,
                      nb::object, const Options&, const AnyDuals*>(),
             nb::arg("labels"), nb::arg("upper"), nb::arg("n_classes"), nb::arg("machine"),
             nb::arg("diagonal"), nb::arg("options"), nb::arg("warm").none() = nb::none())
        .def("part", &PythonKernelDual::part, nb::arg("examples"))
        .def("gain", &PythonKernelDual::gain, nb::arg("part"), nb::arg("examples"))
        .def("absorb", &PythonKernelDual::absorb, nb::arg("part"), nb::arg("examples"))
        .def("check", &PythonKernelDual::check, nb::arg("gaps").noconvert(),
             nb::arg("violations").noconvert())
        .def("solve", &PythonKernelDual::solve, nb::arg("examples"), nb::arg("gram"),
             nb::arg("fraction"), nb::arg("passes"))
        .def("change_from_zero", &PythonKernelDual::change_from_zero, nb::arg("examples"))
        .def("changed", &PythonKernelDual::changed)
        .def("add_scores", &PythonKernelDual::add_scores, nb::arg("which"), nb::arg("kernel"),
             nb::arg("rows"), nb::arg("first") = 0)
        .def("clear_scores", &PythonKernelDual::clear_scores)
        .def_prop_ro("scores",
                     [](nb::handle self) { return nb::cast<PythonKernelDual&>(self).scores(self); })
        .def("duals", &PythonKernelDual::duals)
        .def("duals_with", &PythonKernelDual::duals_with, nb::arg("part"), nb::arg("examples"));
}

}  // namespace polymargin::python
