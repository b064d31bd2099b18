// Solvers that move a few dual variables at a time: SMO, S2DO, Crammer & Singer.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <memory>
#include <string>

#include "duals.hpp"
#include "linear.hpp"
#include "observer.hpp"
#include "polymargin/kernel/crammer_singer.hpp"
#include "polymargin/kernel/one_vs_rest.hpp"
#include "polymargin/kernel/sequential.hpp"
#include "polymargin/kernel/two_variables.hpp"

namespace polymargin::python {

namespace {

struct DecompositionOptions {
    std::string solver = "s2do";
    double tol = 1e-3;
    std::int64_t max_iter = 1000;
    std::string stopping = "gap";
    bool has_gap = true;
    bool shrinking = true;
    std::string selection = "kkt", cooling = "log";
    bool active_set = true, cached = true;
    double block_tol = 0;
    bool record_passes = false;
    std::uint64_t seed = 0;
    std::size_t cache_bytes = 0;

    template <class Visit>
    static void fields(Visit&& visit) {
        visit("solver", &DecompositionOptions::solver);
        visit("tol", &DecompositionOptions::tol);
        visit("max_iter", &DecompositionOptions::max_iter);
        visit("stopping", &DecompositionOptions::stopping);
        visit("has_gap", &DecompositionOptions::has_gap);
        visit("shrinking", &DecompositionOptions::shrinking);
        visit("record_passes", &DecompositionOptions::record_passes);
        visit("selection", &DecompositionOptions::selection);
        visit("active_set", &DecompositionOptions::active_set);
        visit("cooling", &DecompositionOptions::cooling);
        visit("cached", &DecompositionOptions::cached);
        visit("block_tol", &DecompositionOptions::block_tol);
        visit("seed", &DecompositionOptions::seed);
        visit("cache_bytes", &DecompositionOptions::cache_bytes);
    }

    Goal goal() const {
        if (stopping != "gap" && stopping != "kkt") {
            throw nb::value_error("stopping is 'gap' or 'kkt'");
        }
        return {tol, max_iter, stopping == "kkt" ? Stopping::kkt : Stopping::gap, has_gap,
                record_passes};
    }

    CrammerSingerOptions crammer_singer() const {
        return {.choice = word<ExampleChoice>(selection, {{"kkt", ExampleChoice::kkt},
                                                          {"cyclic", ExampleChoice::cyclic},
                                                          {"random", ExampleChoice::random}}),
                .active_set = active_set,
                .cooling = word<Cooling>(cooling, {{"none", Cooling::none},
                                                   {"exponential", Cooling::exponential},
                                                   {"linear", Cooling::linear},
                                                   {"log", Cooling::logarithmic}}),
                .cached = cached,
                .tol = block_tol,
                .accuracy = tol > 0 ? tol : 1e-3,
                .seed = seed};
    }

private:
    template <class Value>
    static Value word(const std::string& name,
                      std::initializer_list<std::pair<const char*, Value>> known) {
        for (const auto& [text, value] : known) {
            if (name == text) return value;
        }
        throw nb::value_error(("no such choice: '" + name + "'").c_str());
    }
};

struct DecompositionResult {
    nb::object duals, history, exception;
    std::int64_t n_steps, n_rows;
    double primal_objective, dual_objective, violation;
    bool converged;
};

// A run of the solver that the options name, and the dual variables it has at any time.
template <class T>
struct Run {
    std::function<DecompositionOutcome(const Observer&)> start;
    std::function<Duals<T>()> duals;
};

template <class T>
std::shared_ptr<ScoredDuals<T>> start_state(const KernelProblem<T>& problem, const AnyDuals* warm,
                                            RowCache<T>& rows) {
    auto state = std::make_shared<ScoredDuals<T>>(problem, start_duals<T>(problem, warm));
    if (warm) {
        const nb::gil_scoped_release release;
        std::vector<std::uint32_t> all(problem.size());
        std::iota(all.begin(), all.end(), std::uint32_t{0});
        state->recompute(all, rows);
    }
    return state;
}

template <class T>
Run<T> make_run(const DecompositionOptions& options, const KernelProblem<T>& problem,
                const AnyDuals* warm, RowCache<T>& rows) {
    const Goal goal = options.goal();
    if (options.solver == "crammer-singer") {
        const CrammerSingerOptions own = options.crammer_singer();
        const auto solve = [goal, own, &rows](ScoredDuals<T>& state, const Observer& observer) {
            CrammerSinger<T> solver(state, rows, own);
            return decompose(goal, state, solver, observer);
        };
        if (OneVsRest<T>::defined_for(problem.machine)) {
            const auto classes =
                std::make_shared<OneVsRest<T>>(problem, start_duals<T>(problem, warm), rows);
            return {[=](const Observer& observer) { return classes->run(goal, observer, solve); },
                    [=] { return classes->duals(); }};
        }
        if (!CrammerSinger<T>::defined_for(problem.machine)) {
            throw nb::value_error("the solver is not defined for this machine");
        }
        const auto state = start_state(problem, warm, rows);
        return {[=](const Observer& observer) { return solve(*state, observer); },
                [=] { return state->duals(); }};
    }
    if (options.solver != "smo" && options.solver != "s2do") {
        throw nb::value_error(("no solver is called '" + options.solver + "'").c_str());
    }
    const auto state = start_state(problem, warm, rows);
    const bool two = options.solver == "s2do", shrinking = options.shrinking;
    return {[=, &rows](const Observer& observer) {
                Sequential<T> solver(*state, rows, two, shrinking);
                return decompose(goal, *state, solver, observer);
            },
            [=] { return state->duals(); }};
}

template <class T>
DecompositionResult train(const Vector<std::int32_t>& labels, const Strided<double>& upper, int k,
                          const std::string& name, const Vector<T>& diagonal,
                          const nb::callable& fill_row, const DecompositionOptions& options,
                          const AnyDuals* warm, const nb::object& monitor, const nb::object& poll,
                          const nb::object& keeper) {
    const std::size_t n = labels.size();
    check_labels(labels, upper, n, k);
    if (n == 0) throw nb::value_error("there are no rows");
    if (n >= UINT32_MAX) throw nb::value_error("at most 2^32 - 2 rows are supported");
    if (diagonal.size() != n) throw nb::value_error("the diagonal needs one entry per row");
    const KernelProblem<T> problem{{labels.data(), n},
                                   {upper.data(), upper.stride(0)},
                                   {diagonal.data(), n},
                                   k,
                                   machine_of(name)};
    // The array is the cache's own memory: it is the caller's only during the call.
    const std::size_t cache_bytes = options.cached ? options.cache_bytes : 0;
    RowCache<T> rows(n, cache_bytes, [&](std::size_t i, T* row) {
        const nb::gil_scoped_acquire gil;
        fill_row(i,
                 nb::ndarray<nb::numpy, T>(row, {n}, nb::handle()).cast(nb::rv_policy::reference));
    });
    const Run<T> run = make_run(options, problem, warm, rows);
    PythonObserver watcher(monitor, poll, keeper, [&] { return nb::cast(AnyDuals{run.duals()}); });
    DecompositionOutcome outcome;
    {
        const nb::gil_scoped_release release;
        outcome = run.start(watcher.observer());
    }
    return {.duals = nb::cast(AnyDuals{run.duals()}),
            .history = history_array(watcher.history),
            .exception = watcher.exception,
            .n_steps = outcome.steps,
            .n_rows = rows.computed(),
            .primal_objective = outcome.certificate.primal,
            .dual_objective = outcome.certificate.dual,
            .violation = outcome.certificate.violation,
            .converged = outcome.converged};
}

DecompositionResult train_decomposition(const Vector<std::int32_t>& labels,
                                        const Strided<double>& upper, int k,
                                        const std::string& name, nb::object diagonal,
                                        const nb::callable& fill_row,
                                        const DecompositionOptions& options, const AnyDuals* warm,
                                        nb::object monitor, nb::object poll, nb::object keeper) {
    Vector<float> single;
    if (nb::try_cast(diagonal, single, false)) {
        return train<float>(labels, upper, k, name, single, fill_row, options, warm, monitor, poll,
                            keeper);
    }
    return train<double>(labels, upper, k, name, nb::cast<Vector<double>>(diagonal), fill_row,
                         options, warm, monitor, poll, keeper);
}

using Pair = TwoVariables::Pair;

TwoVariables two_variables(const Pair& g, const std::array<Pair, 2>& Q) {
    if (Q[0][1] != Q[1][0]) throw nb::value_error("Q is not symmetric");
    return {g, Q[0][0], Q[0][1], Q[1][1]};
}

}  // namespace

void bind_decomposition(nb::module_& module) {
    bind_options<DecompositionOptions>(module, "DecompositionOptions");
    nb::class_<DecompositionResult>(module, "DecompositionResult")
        .def_ro("duals", &DecompositionResult::duals)
        .def_ro("history", &DecompositionResult::history)
        .def_ro("exception", &DecompositionResult::exception)
        .def_ro("n_steps", &DecompositionResult::n_steps)
        .def_ro("n_rows", &DecompositionResult::n_rows)
        .def_ro("primal_objective", &DecompositionResult::primal_objective)
        .def_ro("dual_objective", &DecompositionResult::dual_objective)
        .def_ro("violation", &DecompositionResult::violation)
        .def_ro("converged", &DecompositionResult::converged);
    module.def("train_decomposition", &train_decomposition, nb::arg("labels"), nb::arg("upper"),
               nb::arg("n_classes"), nb::arg("machine"), nb::arg("diagonal"), nb::arg("fill_row"),
               nb::arg("options"), nb::arg("warm").none() = nb::none(),
               nb::arg("monitor").none() = nb::none(), nb::arg("poll").none() = nb::none(),
               nb::arg("keeper").none() = nb::none());
    module.def(
        "two_variable_gain",
        [](const Pair& g, const std::array<Pair, 2>& Q) {
            return two_variable_gain(two_variables(g, Q));
        },
        nb::arg("g"), nb::arg("Q"));
    module.def(
        "solve_two_variables",
        [](const Pair& g, const std::array<Pair, 2>& Q, const Pair& lower, const Pair& upper) {
            return solve_two_variables(two_variables(g, Q), lower, upper);
        },
        nb::arg("g"), nb::arg("Q"), nb::arg("lower"), nb::arg("upper"));
}

}  // namespace polymargin::python
