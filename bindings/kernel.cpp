// The state of a kernel fit, from which Python chooses working sets.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <string>

#include "arrays.hpp"
#include "duals.hpp"
#include "linear.hpp"
#include "polymargin/kernel/dual.hpp"

namespace polymargin::python {

namespace {

std::span<const std::int64_t> span_of(const Indices& indices) {
    return {indices.data(), indices.size()};
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

}  // namespace

void bind_kernel(nb::module_& module) {
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
