#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "polymargin/linear/train.hpp"
#include "polymargin/machines/registry.hpp"
#include "rows.hpp"

namespace polymargin::python {

namespace {

const Machine& machine_of(const std::string& name) {
    const Machine* machine = find_machine(name);
    if (!machine) throw nb::value_error(("no machine is called '" + name + "'").c_str());
    return *machine;
}

void check_labels(const Vector<std::int32_t>& labels, const Vector<double>& upper, std::size_t n,
                  int k) {
    if (labels.size() != n || upper.size() != n) {
        throw nb::value_error("labels and upper need one entry per row");
    }
    if (k < 2) throw nb::value_error("at least two classes are needed");
    for (std::size_t i = 0; i < n; ++i) {
        if (labels.data()[i] < 0 || labels.data()[i] >= k) {
            throw nb::value_error("a label is outside [0, n_classes)");
        }
        if (!(upper.data()[i] > 0)) throw nb::value_error("every upper bound must be positive");
    }
}

struct Options {
    bool fit_intercept = true;
    double tol = 1e-3;
    std::int64_t max_iter = 1000;
    std::string stopping = "gap", block_solver = "newton";
    double block_tol = 1e-3;
    int block_max_iter = 0;
    bool shrinking = true;
    std::uint64_t seed = 0;
    int n_threads = 1;

    LinearOptions for_machine(const Machine& machine) const {
        const BlockSolverInfo* info = find_block_solver(block_solver);
        if (!info)
            throw nb::value_error(("no block solver is called '" + block_solver + "'").c_str());
        if (!info->defined_for(machine)) {
            throw nb::value_error(("block solver '" + block_solver +
                                   "' is not defined for machine '" + std::string(machine.name) +
                                   "'")
                                      .c_str());
        }
        if (stopping != "gap" && stopping != "kkt") {
            throw nb::value_error("stopping is 'gap' or 'kkt'");
        }
        return {.bias = fit_intercept,
                .tol = tol,
                .max_iter = max_iter,
                .stopping = stopping == "kkt" ? Stopping::kkt : Stopping::gap,
                .block = {info->kind, block_tol, block_max_iter},
                .shrinking = shrinking,
                .seed = seed,
                .threads = n_threads};
    }
};

// Dual variables of either precision.
struct AnyDuals {
    std::variant<Duals<float>, Duals<double>> duals;
};

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
                    own += machine.relative || c == y ? value : T(0);
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

// (k, d) view of the solver's own matrix, and the bias row.
template <class T>
std::pair<nb::object, nb::object> weight_views(Weights<T>&& weights, bool bias) {
    auto* owner = new Weights<T>(std::move(weights));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<Weights<T>*>(p); });
    const std::size_t d = owner->features() - bias, k = owner->classes();
    const auto stride = static_cast<std::int64_t>(owner->stride());
    nb::object coef = nb::ndarray<nb::numpy, T>(owner->row(0), {k, d}, capsule, {1, stride}).cast();
    std::vector<T> intercept(k);
    if (bias) std::copy_n(owner->row(d), k, intercept.data());
    return {coef, to_numpy(std::move(intercept))};
}

// Signals and the monitor's exceptions reach Python after the fit has been put in order.
class PythonObserver {
public:
    explicit PythonObserver(nb::object monitor) : monitor_(std::move(monitor)) {}

    Observer observer() {
        return {.on_check =
                    [this](const Record& record) {
                        history.push_back(record);
                        const nb::gil_scoped_acquire gil;
                        return guarded([&] {
                            if (monitor_.is_none()) return false;
                            const nb::object answer =
                                monitor_(nb::make_tuple(record.epoch, record.seconds, record.primal,
                                                        record.dual, record.gap, record.violation,
                                                        record.active));
                            return PyObject_IsTrue(answer.ptr()) == 1;
                        });
                    },
                .interrupted =
                    [this] {
                        const nb::gil_scoped_acquire gil;
                        return guarded([] {
                            if (PyErr_CheckSignals() != 0) throw nb::python_error();
                            return false;
                        });
                    }};
    }

    std::vector<Record> history;
    nb::object exception = nb::none();

private:
    template <class Body>
    bool guarded(Body&& body) {
        try {
            return body();
        } catch (nb::python_error& error) {
            exception = nb::borrow(error.value());
            return true;
        }
    }
    nb::object monitor_;
};

nb::object history_array(const std::vector<Record>& history) {
    nb::list rows;
    for (const Record& r : history) {
        rows.append(
            nb::make_tuple(r.epoch, r.seconds, r.primal, r.dual, r.gap, r.violation, r.active));
    }
    nb::list fields;
    for (const char* name : {"epoch", "seconds", "primal", "dual", "gap", "violation"}) {
        fields.append(nb::make_tuple(name, "f8"));
    }
    fields.append(nb::make_tuple("active", "i8"));
    return nb::module_::import_("numpy").attr("array")(rows, fields);
}

struct LinearResult {
    nb::object coef, intercept, duals, history, exception;
    std::int64_t n_iter;
    double primal_objective, dual_objective, dual_gap, violation;
    bool converged;
};

LinearResult train_linear(const Rows& rows, const Vector<std::int32_t>& labels,
                          const Vector<double>& upper, int k, const std::string& name,
                          const Options& options, const AnyDuals* warm, nb::object monitor) {
    const Machine& machine = machine_of(name);
    check_labels(labels, upper, rows.size(), k);
    if (rows.size() == 0) throw nb::value_error("there are no rows");
    if (rows.size() >= UINT32_MAX) throw nb::value_error("at most 2^32 - 2 rows are supported");
    const LinearOptions core_options = options.for_machine(machine);
    PythonObserver watcher(std::move(monitor));
    return std::visit(
        [&](const auto& view) {
            using View = std::decay_t<decltype(view)>;
            using T = typename View::value_type;
            const LinearProblem<View> problem{
                view,    {labels.data(), labels.size()}, {upper.data(), upper.size()}, k,
                machine, options.fit_intercept};
            Duals<T> duals(view.size(), k);
            if (warm) {
                const auto* start = std::get_if<Duals<T>>(&warm->duals);
                if (!start || start->size() != view.size() || start->classes() != std::size_t(k)) {
                    throw nb::value_error("the warm start has another shape or precision");
                }
                clip_into(*start, problem, duals);
            }
            Weights<T> weights(problem.weight_rows(), k);
            const Observer observer = watcher.observer();
            LinearOutcome outcome;
            {
                const nb::gil_scoped_release release;
                outcome = train(problem, core_options, duals, weights, observer);
            }
            LinearResult result;
            std::tie(result.coef, result.intercept) =
                weight_views(std::move(weights), options.fit_intercept);
            result.duals = nb::cast(AnyDuals{std::move(duals)});
            result.history = history_array(watcher.history);
            result.exception = watcher.exception;
            result.n_iter = outcome.n_iter;
            result.primal_objective = outcome.certificate.primal;
            result.dual_objective = outcome.certificate.dual;
            result.dual_gap = outcome.certificate.gap();
            result.violation = outcome.certificate.violation;
            result.converged = outcome.converged;
            return result;
        },
        rows.view);
}

// The weights of a stream, in either precision.
class LinearStream {
public:
    LinearStream(std::size_t features, int k, const std::string& machine, const Options& options,
                 nb::object dtype)
        : machine_(machine), options_(options), k_(k), features_(features) {
        machine_of(machine);
        if (k < 2) throw nb::value_error("at least two classes are needed");
        const std::string kind = nb::cast<std::string>(nb::str(nb::getattr(dtype, "name")));
        if (kind == "float32") weights_.emplace<Weights<float>>(features + bias(), k);
        else if (kind == "float64") weights_.emplace<Weights<double>>(features + bias(), k);
        else throw nb::value_error("dtype is float32 or float64");
    }

    void visit(const Rows& rows, const Vector<std::int32_t>& labels, const Vector<double>& upper) {
        const Machine& machine = machine_of(machine_);
        check_labels(labels, upper, rows.size(), k_);
        if (rows.features() != features_) throw nb::value_error("the number of features changed");
        const LinearOptions core_options = options_.for_machine(machine);
        PythonObserver watcher{nb::none()};
        const Observer observer = watcher.observer();
        std::visit(
            [&](const auto& view) {
                using View = std::decay_t<decltype(view)>;
                using T = typename View::value_type;
                auto* weights = std::get_if<Weights<T>>(&weights_);
                if (!weights) throw nb::value_error("the precision of the rows changed");
                const LinearProblem<View> problem{view,
                                                  {labels.data(), labels.size()},
                                                  {upper.data(), upper.size()},
                                                  k_,
                                                  machine,
                                                  bias()};
                const nb::gil_scoped_release release;
                train_stream(problem, core_options, *weights, observer);
            },
            rows.view);
        n_seen_ += rows.size();
        if (!watcher.exception.is_none()) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(watcher.exception.ptr())),
                            watcher.exception.ptr());
            throw nb::python_error();
        }
    }

    // A copy, centred where the machine is zero-sum.
    std::pair<nb::object, nb::object> weights() const {
        return std::visit(
            [&]<class T>(const Weights<T>& weights) {
                Weights<T> copy(weights.features(), weights.classes());
                std::copy_n(weights.row(0), weights.features() * weights.stride(), copy.row(0));
                if (machine_of(machine_).zero_sum) copy.centre();
                return weight_views(std::move(copy), bias());
            },
            weights_);
    }

    nb::tuple state() const {
        const nb::object matrix = std::visit(
            []<class T>(const Weights<T>& weights) -> nb::object {
                const std::size_t d = weights.features(), k = weights.classes();
                std::vector<T> packed(d * k);
                for (std::size_t j = 0; j < d; ++j) std::copy_n(weights.row(j), k, &packed[j * k]);
                return to_numpy(std::move(packed));
            },
            weights_);
        return nb::make_tuple(features_, k_, machine_, options_, n_seen_, matrix);
    }

    static LinearStream restored(const nb::tuple& state) {
        const nb::object matrix = state[5];
        LinearStream stream(nb::cast<std::size_t>(state[0]), nb::cast<int>(state[1]),
                            nb::cast<std::string>(state[2]), nb::cast<Options>(state[3]),
                            matrix.attr("dtype"));
        stream.n_seen_ = nb::cast<std::size_t>(state[4]);
        std::visit(
            [&]<class T>(Weights<T>& weights) {
                const auto packed = nb::cast<Vector<T>>(matrix);
                const std::size_t d = weights.features(), k = weights.classes();
                if (packed.size() != d * k)
                    throw nb::value_error("the stored stream is inconsistent");
                for (std::size_t j = 0; j < d; ++j) {
                    std::copy_n(packed.data() + j * k, k, weights.row(j));
                }
            },
            stream.weights_);
        return stream;
    }

    std::size_t n_seen() const { return n_seen_; }

private:
    bool bias() const { return options_.fit_intercept; }

    std::string machine_;
    Options options_;
    int k_;
    std::size_t features_, n_seen_ = 0;
    std::variant<Weights<float>, Weights<double>> weights_{std::in_place_type<Weights<float>>, 1,
                                                           1};
};

// (n, k) = rows coef^T + intercept.
template <class T>
nb::object scores_of(const Rows& rows, nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> coef,
                     Vector<T> intercept, int threads) {
    const std::size_t k = coef.shape(0), d = coef.shape(1);
    if (d != rows.features())
        throw nb::value_error("coef and rows differ in the number of features");
    if (intercept.size() != k) throw nb::value_error("intercept needs one entry per class");
    return std::visit(
        [&](const auto& view) -> nb::object {
            using View = std::decay_t<decltype(view)>;
            if constexpr (std::is_same_v<typename View::value_type, T>) {
                std::vector<T> out(view.size() * k);
                {
                    const nb::gil_scoped_release release;
                    predict_scores(view, coef.data(), k, coef.stride(0), coef.stride(1),
                                   intercept.data(), out.data(), threads);
                }
                auto* owner = new std::vector<T>(std::move(out));
                nb::capsule capsule(owner, [](void* p) noexcept {
                    delete static_cast<std::vector<T>*>(p);
                });
                return nb::ndarray<nb::numpy, T>(owner->data(), {view.size(), k}, capsule).cast();
            } else {
                throw nb::type_error("rows and coef differ in precision");
            }
        },
        rows.view);
}

}  // namespace

void bind_linear(nb::module_& module) {
    nb::class_<Options>(module, "LinearOptions")
        .def(nb::init<>())
        .def_rw("fit_intercept", &Options::fit_intercept)
        .def_rw("tol", &Options::tol)
        .def_rw("max_iter", &Options::max_iter)
        .def_rw("stopping", &Options::stopping)
        .def_rw("block_solver", &Options::block_solver)
        .def_rw("block_tol", &Options::block_tol)
        .def_rw("block_max_iter", &Options::block_max_iter)
        .def_rw("shrinking", &Options::shrinking)
        .def_rw("seed", &Options::seed)
        .def_rw("n_threads", &Options::n_threads)
        .def("__getstate__",
             [](const Options& o) {
                 return std::tuple(o.fit_intercept, o.tol, o.max_iter, o.stopping, o.block_solver,
                                   o.block_tol, o.block_max_iter, o.shrinking, o.seed, o.n_threads);
             })
        .def("__setstate__",
             [](Options& o, const std::tuple<bool, double, std::int64_t, std::string, std::string,
                                             double, int, bool, std::uint64_t, int>& state) {
                 new (&o) Options;
                 std::tie(o.fit_intercept, o.tol, o.max_iter, o.stopping, o.block_solver,
                          o.block_tol, o.block_max_iter, o.shrinking, o.seed, o.n_threads) = state;
             });

    nb::class_<AnyDuals>(module, "Duals")
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

    nb::class_<LinearResult>(module, "LinearResult")
        .def_ro("coef", &LinearResult::coef)
        .def_ro("intercept", &LinearResult::intercept)
        .def_ro("duals", &LinearResult::duals)
        .def_ro("n_iter", &LinearResult::n_iter)
        .def_ro("primal_objective", &LinearResult::primal_objective)
        .def_ro("dual_objective", &LinearResult::dual_objective)
        .def_ro("dual_gap", &LinearResult::dual_gap)
        .def_ro("violation", &LinearResult::violation)
        .def_ro("converged", &LinearResult::converged)
        .def_ro("history", &LinearResult::history)
        .def_ro("exception", &LinearResult::exception);
    module.def("train_linear", &train_linear, nb::arg("rows"), nb::arg("labels"), nb::arg("upper"),
               nb::arg("n_classes"), nb::arg("machine"), nb::arg("options"),
               nb::arg("warm").none() = nb::none(), nb::arg("monitor").none() = nb::none());

    nb::class_<LinearStream>(module, "LinearStream")
        .def(nb::init<std::size_t, int, const std::string&, const Options&, nb::object>(),
             nb::arg("n_features"), nb::arg("n_classes"), nb::arg("machine"), nb::arg("options"),
             nb::arg("dtype"))
        .def("visit", &LinearStream::visit, nb::arg("rows"), nb::arg("labels"), nb::arg("upper"))
        .def_prop_ro("coef", [](const LinearStream& s) { return s.weights().first; })
        .def_prop_ro("intercept", [](const LinearStream& s) { return s.weights().second; })
        .def_prop_ro("n_seen", &LinearStream::n_seen)
        .def("__getstate__", &LinearStream::state)
        .def("__setstate__", [](LinearStream& stream, const nb::tuple& state) {
            new (&stream) LinearStream(LinearStream::restored(state));
        });

    module.def("scores", &scores_of<float>, nb::arg("rows"), nb::arg("coef").noconvert(),
               nb::arg("intercept").noconvert(), nb::arg("n_threads") = 1);
    module.def("scores", &scores_of<double>, nb::arg("rows"), nb::arg("coef").noconvert(),
               nb::arg("intercept").noconvert(), nb::arg("n_threads") = 1);
}

}  // namespace polymargin::python
