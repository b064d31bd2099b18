// Working sets of a kernel problem, which Python chooses, and what a device on this processor
// does with the scores of all examples.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <string>

#include "arrays.hpp"
#include "duals.hpp"
#include "linear.hpp"
#include "polymargin/kernel/certificate.hpp"
#include "polymargin/kernel/working_set_solver.hpp"

namespace polymargin::python {

namespace {

std::span<const std::int64_t> span_of(const Indices& indices) {
    return {indices.data(), indices.size()};
}

// Scores of n examples, any strides.
ScoreRows score_rows(const Matrix<double>& scores, std::size_t n, int k) {
    if (scores.shape(0) != n || scores.shape(1) != std::size_t(k)) {
        throw nb::value_error("the scores need a row per example and a column per class");
    }
    return {scores.data(), scores.stride(0), scores.stride(1), k};
}

// Changes of either precision.
struct AnyChanges {
    std::variant<AlphaChanges<float>, AlphaChanges<double>> changes;

    template <class Body>
    auto visit(Body&& body) const {
        return std::visit(body, changes);
    }
    std::size_t size() const {
        return visit([](const auto& own) { return own.size(); });
    }
};

template <class T>
nb::object copied(const std::vector<T>& items) {
    return to_numpy(std::vector<T>(items));
}

using AllScores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void add_scores(const AllScores& scores, const AnyChanges& changes, const Indices& which,
                nb::object kernel, const Indices& rows, std::size_t first, int threads) {
    changes.visit([&]<class T>(const AlphaChanges<T>& own) {
        const auto matrix = nb::cast<Matrix<T>>(kernel);
        check_rows_contiguous(matrix);
        check_indices(which, own.size());
        check_indices(rows, matrix.shape(0));
        if (which.size() != rows.size()) throw nb::value_error("one row is needed per change");
        if (first + matrix.shape(1) > scores.shape(1)) {
            throw nb::value_error("the kernel has columns beyond the last example");
        }
        const int k = static_cast<int>(scores.shape(0));
        for (const std::int32_t c : own.classes) {
            if (c >= k) throw nb::value_error("the changes have more classes than the scores");
        }
        const nb::gil_scoped_release release;
        std::vector<const T*> pointers;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            pointers.push_back(matrix.data() + rows.data()[r] * matrix.stride(0));
        }
        Scores(scores.data(), scores.shape(1), k)
            .add(own, span_of(which), std::span<const T* const>(pointers), first, matrix.shape(1),
                 threads);
    });
}

// The arrays of a problem and the solver that reads them.
template <class T>
struct OwnedSolver {
    std::vector<std::int32_t> labels;
    std::vector<double> upper;
    std::vector<T> diagonal;
    std::unique_ptr<WorkingSetSolver<T>> solver;
};

class PythonSolver {
    // These two stand first: what calls them deduces its result.
    template <class Body>
    auto visit(Body&& body) const {
        return std::visit([&](const auto& own) { return body(*own.solver); }, own_);
    }

    // Calls body with this solver and that of a part of its examples.
    template <class Body>
    auto visit_with(const PythonSolver& part, const Indices& examples, Body&& body) const {
        return std::visit(
            [&]<class T>(const OwnedSolver<T>& whole) {
                const auto* other = std::get_if<OwnedSolver<T>>(&part.own_);
                check_indices(examples, whole.labels.size());
                if (!other || other->labels.size() != examples.size()) {
                    throw nb::value_error("the part belongs to other examples");
                }
                return body(*whole.solver, *other->solver);
            },
            own_);
    }

public:
    PythonSolver(const Vector<std::int32_t>& labels, const Strided<double>& upper, int k,
                 const std::string& name, nb::object diagonal, const Options& options,
                 bool by_pairs, const AnyDuals* warm) {
        check_labels(labels, upper, labels.size(), k);
        Vector<float> single;
        if (nb::try_cast(diagonal, single, false)) {
            make<float>(labels, upper, k, name, single, options, by_pairs, warm);
        } else {
            const auto wide = nb::cast<Vector<double>>(diagonal);
            make<double>(labels, upper, k, name, wide, options, by_pairs, warm);
        }
    }

    PythonSolver part(const Indices& examples) const {
        return std::visit(
            [&]<class T>(const OwnedSolver<T>& whole) {
                const KernelProblem<T>& problem = whole.solver->problem();
                check_indices(examples, problem.size());
                OwnedSolver<T> own;
                for (std::size_t e = 0; e < examples.size(); ++e) {
                    const std::int64_t i = examples.data()[e];
                    own.labels.push_back(whole.labels[i]);
                    own.upper.push_back(whole.upper[i]);
                    own.diagonal.push_back(whole.diagonal[i]);
                }
                const KernelProblem<T> same{own.labels, own.upper, own.diagonal, problem.k,
                                            problem.machine};
                own.solver =
                    std::make_unique<WorkingSetSolver<T>>(same, *whole.solver, span_of(examples));
                return PythonSolver(std::move(own));
            },
            own_);
    }

    std::pair<AnyChanges, std::int64_t> solve(const Indices& examples, nb::object gram,
                                              const Matrix<double>& scores, double fraction,
                                              int passes) {
        return visit([&]<class T>(WorkingSetSolver<T>& solver) {
            const auto matrix = nb::cast<nb::ndarray<const T, nb::ndim<2>, nb::c_contig>>(gram);
            check_indices(examples, solver.problem().size());
            if (matrix.shape(0) != examples.size() || matrix.shape(1) != examples.size()) {
                throw nb::value_error("the Gram matrix needs a row and a column per example");
            }
            const ScoreRows rows = score_rows(scores, examples.size(), solver.problem().k);
            const nb::gil_scoped_release release;
            auto [changes, visits] =
                solver.solve(span_of(examples), matrix.data(), rows, {fraction, passes});
            return std::pair(AnyChanges{std::move(changes)}, visits);
        });
    }

    double gain(const PythonSolver& part, const Indices& examples, const Matrix<double>& before,
                const Matrix<double>& now) const {
        return visit_with(part, examples, [&](const auto& whole, const auto& other) {
            const int k = whole.problem().k;
            const ScoreRows old_rows = score_rows(before, examples.size(), k);
            const ScoreRows new_rows = score_rows(now, examples.size(), k);
            const nb::gil_scoped_release release;
            return whole.gain(other, span_of(examples), old_rows, new_rows);
        });
    }

    AnyChanges absorb(const PythonSolver& part, const Indices& examples) {
        return visit_with(part, examples, [&](auto& whole, const auto& other) {
            const nb::gil_scoped_release release;
            return AnyChanges{whole.absorb(other, span_of(examples))};
        });
    }

    AnyChanges changes_from_zero(const Indices& examples) const {
        return visit([&](const auto& solver) {
            check_indices(examples, solver.problem().size());
            return AnyChanges{solver.changes_from_zero(span_of(examples))};
        });
    }

    using Values = nb::ndarray<double, nb::ndim<1>, nb::c_contig>;

    std::tuple<double, double, double> check(const Matrix<double>& scores, const Values& gaps,
                                             const Values& violations, int threads) const {
        return visit([&]<class T>(const WorkingSetSolver<T>& solver) {
            const std::size_t n = solver.problem().size();
            if (gaps.size() != n || violations.size() != n) {
                throw nb::value_error("gaps and violations need n entries");
            }
            const ScoreRows rows = score_rows(scores, n, solver.problem().k);
            const nb::gil_scoped_release release;
            const Certificate c =
                certify(solver.problem(), solver.duals(), rows, std::span(gaps.data(), n),
                        std::span(violations.data(), n), threads);
            return std::tuple(c.primal, c.dual, c.violation);
        });
    }

    // (m, k), dense.
    nb::object betas(const Indices& examples) const {
        return visit([&]<class T>(const WorkingSetSolver<T>& solver) -> nb::object {
            check_indices(examples, solver.problem().size());
            const std::size_t m = examples.size(), k = solver.duals().classes();
            auto* values = new std::vector<T>(m * k);
            nb::capsule owner(values,
                              [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
            for (std::size_t e = 0; e < m; ++e) {
                solver.duals().for_each(examples.data()[e], [&](std::int32_t c, T beta) {
                    (*values)[e * k + c] = beta;
                });
            }
            return nb::ndarray<nb::numpy, T>(values->data(), {m, k}, owner).cast();
        });
    }

    AnyDuals duals() const {
        return visit([](const auto& solver) { return AnyDuals{solver.duals().copy()}; });
    }

    // With those of some examples taken from a part that is solved alone.
    AnyDuals duals_with(const PythonSolver& part, const Indices& examples) const {
        return visit_with(part, examples,
                          [&]<class T>(const WorkingSetSolver<T>& whole,
                                       const WorkingSetSolver<T>& other) {
                              const nb::gil_scoped_release release;
                              Duals<T> merged = whole.duals().copy();
                              std::vector<DualEntry<T>> scratch;
                              for (std::size_t e = 0; e < examples.size(); ++e) {
                                  merged.assign_row(examples.data()[e], other.duals(), e, scratch);
                              }
                              return AnyDuals{std::move(merged)};
                          });
    }

private:
    template <class T>
    explicit PythonSolver(OwnedSolver<T> own) : own_(std::move(own)) {}

    template <class T>
    void make(const Vector<std::int32_t>& labels, const Strided<double>& upper, int k,
              const std::string& name, const Vector<T>& diagonal, const Options& options,
              bool by_pairs, const AnyDuals* warm) {
        const std::size_t n = labels.size();
        if (diagonal.size() != n) throw nb::value_error("the diagonal needs one entry per row");
        OwnedSolver<T> own{{labels.data(), labels.data() + n},
                           std::vector<double>(n),
                           {diagonal.data(), diagonal.data() + n},
                           nullptr};
        for (std::size_t i = 0; i < n; ++i) own.upper[i] = upper(i);
        const Machine& machine = machine_of(name);
        const LinearOptions core_options = options.for_machine(machine);
        const KernelProblem<T> problem{own.labels, own.upper, own.diagonal, k, machine};
        own.solver =
            std::make_unique<WorkingSetSolver<T>>(problem, start_duals<T>(problem, warm),
                                                  core_options.block, by_pairs, core_options.seed);
        own_ = std::move(own);
    }

    std::variant<OwnedSolver<float>, OwnedSolver<double>> own_;
};

}  // namespace

void bind_kernel(nb::module_& module) {
    nb::class_<AnyChanges>(module, "Changes")
        .def("__len__", &AnyChanges::size)
        .def_prop_ro("examples",
                     [](const AnyChanges& any) {
                         return any.visit([](const auto& own) { return copied(own.examples); });
                     })
        .def("arrays", [](const AnyChanges& any) {
            return any.visit([](const auto& own) {
                return nb::make_tuple(to_numpy(std::vector<std::int64_t>(own.offsets.begin(),
                                                                         own.offsets.end())),
                                      copied(own.classes), copied(own.values));
            });
        });
    module.def("add_scores", &add_scores, nb::arg("scores").noconvert(), nb::arg("changes"),
               nb::arg("which"), nb::arg("kernel"), nb::arg("rows"), nb::arg("first") = 0,
               nb::arg("n_threads") = 1);
    nb::class_<PythonSolver>(module, "WorkingSetSolver")
        .def(nb::init<const Vector<std::int32_t>&, const Strided<double>&, int, const std::string&,
                      nb::object, const Options&, bool, const AnyDuals*>(),
             nb::arg("labels"), nb::arg("upper"), nb::arg("n_classes"), nb::arg("machine"),
             nb::arg("diagonal"), nb::arg("options"), nb::arg("by_pairs"),
             nb::arg("warm").none() = nb::none())
        .def("part", &PythonSolver::part, nb::arg("examples"))
        .def("solve", &PythonSolver::solve, nb::arg("examples"), nb::arg("gram"),
             nb::arg("scores").noconvert(), nb::arg("fraction"), nb::arg("passes"))
        .def("gain", &PythonSolver::gain, nb::arg("part"), nb::arg("examples"),
             nb::arg("before").noconvert(), nb::arg("now").noconvert())
        .def("absorb", &PythonSolver::absorb, nb::arg("part"), nb::arg("examples"))
        .def("changes_from_zero", &PythonSolver::changes_from_zero, nb::arg("examples"))
        .def("check", &PythonSolver::check, nb::arg("scores").noconvert(),
             nb::arg("gaps").noconvert(), nb::arg("violations").noconvert(),
             nb::arg("n_threads") = 1)
        .def("betas", &PythonSolver::betas, nb::arg("examples"))
        .def("duals", &PythonSolver::duals)
        .def("duals_with", &PythonSolver::duals_with, nb::arg("part"), nb::arg("examples"));
}

}  // namespace polymargin::python
