#include "linear.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "duals.hpp"
#include "observer.hpp"

namespace polymargin::python {

namespace {

struct LinearResult {
    nb::object coef, intercept, duals, history, exception;
    std::int64_t n_iter;
    double primal_objective, dual_objective, dual_gap, violation;
    bool converged;
};

LinearResult train_linear(const Rows& rows, const Vector<std::int32_t>& labels,
                          const Strided<double>& upper, int k, const std::string& name,
                          const Options& options, const AnyDuals* warm, nb::object monitor,
                          nb::object keeper, nb::object poll) {
    const Machine& machine = machine_of(name);
    check_labels(labels, upper, rows.size(), k);
    if (rows.size() == 0) throw nb::value_error("there are no rows");
    if (rows.size() >= UINT32_MAX) throw nb::value_error("at most 2^32 - 2 rows are supported");
    const LinearOptions core_options = options.for_machine(machine);
    return std::visit(
        [&](const auto& view) {
            using View = std::decay_t<decltype(view)>;
            using T = typename View::value_type;
            const LinearProblem<View> problem{
                view, rows.norms(), {labels.data(), labels.size()}, {upper.data(), upper.stride(0)},
                k,    machine,      options.fit_intercept};
            const auto fit = [&](auto weights) {
                Duals<T> duals = start_duals<T>(problem, warm);
                PythonObserver watcher(monitor, poll, keeper,
                                       [&] { return nb::cast(AnyDuals{duals.copy()}); });
                const Observer observer = watcher.observer();
                LinearOutcome outcome;
                {
                    const nb::gil_scoped_release release;
                    outcome = train(problem, core_options, duals, weights, observer);
                }
                LinearResult result;
                std::tie(result.coef, result.intercept) = weight_views(std::move(weights));
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
            };
            if (options.has_sparse_weights()) {
                return fit(problem.template weights<SparseWeights<T>>());
            }
            return fit(problem.template weights<DenseWeights<T>>());
        },
        rows.view);
}

}  // namespace

void bind_linear(nb::module_& module) {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const TooDense& error) {
            PyErr_Format(PyExc_MemoryError,
                         "weights and dual variables of this fit would take about %zu MB, more "
                         "than this machine has: so many classes count for each row. That is so "
                         "where C is small. Raise C, take machine='cs', or use fewer features.",
                         static_cast<std::size_t>(error.bytes / 1e6));
        }
    });
    module.def("relative_gap", &relative_gap, nb::arg("primal"), nb::arg("dual"));
    bind_options<Options>(module, "LinearOptions");
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
               nb::arg("warm").none() = nb::none(), nb::arg("monitor").none() = nb::none(),
               nb::arg("keeper").none() = nb::none(), nb::arg("poll").none() = nb::none());
}

}  // namespace polymargin::python
