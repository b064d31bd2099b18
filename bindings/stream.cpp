#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "duals.hpp"
#include "linear.hpp"
#include "observer.hpp"

namespace polymargin::python {

namespace {

// The weights of a stream, in either precision.
class LinearStream {
public:
    LinearStream(std::size_t features, int k, const std::string& machine, const Options& options,
                 nb::object dtype)
        : machine_(machine), options_(options), k_(k), features_(features) {
        machine_of(machine);
        if (k < 2) throw nb::value_error("at least two classes are needed");
        const std::string kind = nb::cast<std::string>(nb::str(nb::getattr(dtype, "name")));
        if (kind == "float32") weights_.emplace<DenseWeights<float>>(features, k, bias());
        else if (kind == "float64") weights_.emplace<DenseWeights<double>>(features, k, bias());
        else throw nb::value_error("dtype is float32 or float64");
    }

    void visit(const Rows& rows, const Vector<std::int32_t>& labels, const Strided<double>& upper,
               AnyDuals* kept) {
        const LinearOptions core_options = options_.for_machine(machine_of(machine_));
        PythonObserver watcher{nb::none()};
        const Observer observer = watcher.observer();
        with_problem(rows, labels, upper,
                     [&]<class T>(const auto& problem, DenseWeights<T>& weights) {
                         Duals<T>* duals = kept ? &duals_of<T>(*kept, problem.size()) : nullptr;
                         const nb::gil_scoped_release release;
                         n_seen_ += train_stream(problem, core_options, weights, duals, observer);
                     });
        is_centred_ = false;
        if (!watcher.exception.is_none()) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(watcher.exception.ptr())),
                            watcher.exception.ptr());
            throw nb::python_error();
        }
    }

    // For one pass over all examples without visits in between.
    PassingCertificate begin_check() {
        centre();
        return {features_, k_, bias()};
    }

    void check(const Rows& rows, const Vector<std::int32_t>& labels, const Strided<double>& upper,
               AnyDuals& kept, PassingCertificate& certificate) {
        with_problem(rows, labels, upper,
                     [&]<class T>(const auto& problem, DenseWeights<T>& weights) {
                         const Duals<T>& duals = duals_of<T>(kept, problem.size());
                         const nb::gil_scoped_release release;
                         check_stream(problem, weights, duals, certificate);
                     });
    }

    Certificate certificate(const PassingCertificate& sums) const {
        return std::visit([&](const auto& weights) { return sums.at(weights); }, weights_);
    }

    // A copy, centred where the machine is zero-sum.
    std::pair<nb::object, nb::object> weights() const {
        return std::visit(
            [&]<class T>(const DenseWeights<T>& weights) {
                DenseWeights<T> copy = weights.copy();
                if (machine_of(machine_).zero_sum && !is_centred_) copy.centre();
                return weight_views(std::move(copy));
            },
            weights_);
    }

    nb::tuple state() const {
        const nb::object matrix =
            std::visit([](const auto& weights) -> nb::object { return to_numpy(weights.packed()); },
                       weights_);
        return nb::make_tuple(features_, k_, machine_, options_state(options_), n_seen_, matrix);
    }

    static LinearStream restored(const nb::tuple& state) {
        const nb::object matrix = state[5];
        LinearStream stream(nb::cast<std::size_t>(state[0]), nb::cast<int>(state[1]),
                            nb::cast<std::string>(state[2]),
                            options_from<Options>(nb::cast<nb::dict>(state[3])),
                            matrix.attr("dtype"));
        stream.n_seen_ = nb::cast<std::size_t>(state[4]);
        std::visit(
            [&]<class T>(DenseWeights<T>& weights) {
                const auto packed = nb::cast<Vector<T>>(matrix);
                if (!weights.unpack({packed.data(), packed.size()})) {
                    throw nb::value_error("the stored stream is inconsistent");
                }
            },
            stream.weights_);
        return stream;
    }

    std::size_t n_seen() const { return n_seen_; }

    nb::object dtype() const {
        const bool is_float = std::holds_alternative<DenseWeights<float>>(weights_);
        return nb::module_::import_("numpy").attr("dtype")(is_float ? "float32" : "float64");
    }

private:
    bool bias() const { return options_.fit_intercept; }

    template <class Body>
    void with_problem(const Rows& rows, const Vector<std::int32_t>& labels,
                      const Strided<double>& upper, Body&& body) {
        check_labels(labels, upper, rows.size(), k_);
        if (rows.features() != features_) throw nb::value_error("the number of features changed");
        std::visit(
            [&](const auto& view) {
                using View = std::decay_t<decltype(view)>;
                auto* weights = std::get_if<DenseWeights<typename View::value_type>>(&weights_);
                if (!weights) throw nb::value_error("the precision of the rows changed");
                body(LinearProblem<View>{view,
                                         rows.norms(),
                                         {labels.data(), labels.size()},
                                         {upper.data(), upper.stride(0)},
                                         k_,
                                         machine_of(machine_),
                                         bias()},
                     *weights);
            },
            rows.view);
    }

    template <class T>
    Duals<T>& duals_of(AnyDuals& kept, std::size_t n) const {
        auto* duals = std::get_if<Duals<T>>(&kept.duals);
        if (!duals || duals->size() != n || duals->classes() != static_cast<std::size_t>(k_)) {
            throw nb::value_error("the dual variables are of another shape or precision");
        }
        return *duals;
    }

    // Which changes no prediction.
    void centre() {
        if (is_centred_ || !machine_of(machine_).zero_sum) return;
        std::visit([](auto& weights) { weights.centre(); }, weights_);
        is_centred_ = true;
    }

    std::string machine_;
    Options options_;
    int k_;
    std::size_t features_, n_seen_ = 0;
    bool is_centred_ = false;
    std::variant<DenseWeights<float>, DenseWeights<double>> weights_{
        std::in_place_type<DenseWeights<float>>, 1, 1, false};
};

// Both objectives at the weights of a stream, from all its examples and their dual variables.
class StreamCertificate {
public:
    explicit StreamCertificate(LinearStream& stream)
        : stream_(stream), sums_(stream.begin_check()) {}

    void add(const Rows& rows, const Vector<std::int32_t>& labels, const Strided<double>& upper,
             AnyDuals& kept) {
        stream_.check(rows, labels, upper, kept, sums_);
    }

    std::tuple<double, double, double> objectives() const {
        const Certificate reached = stream_.certificate(sums_);
        return {reached.primal, reached.dual, reached.violation};
    }

private:
    LinearStream& stream_;
    PassingCertificate sums_;
};

}  // namespace

void bind_stream(nb::module_& module) {
    nb::class_<LinearStream>(module, "LinearStream")
        .def(nb::init<std::size_t, int, const std::string&, const Options&, nb::object>(),
             nb::arg("n_features"), nb::arg("n_classes"), nb::arg("machine"), nb::arg("options"),
             nb::arg("dtype"))
        .def("visit", &LinearStream::visit, nb::arg("rows"), nb::arg("labels"), nb::arg("upper"),
             nb::arg("duals").none() = nb::none())
        .def("weights", &LinearStream::weights)
        .def_prop_ro("n_seen", &LinearStream::n_seen)
        .def_prop_ro("dtype", &LinearStream::dtype)
        .def("__getstate__", &LinearStream::state)
        .def("__setstate__", [](LinearStream& stream, const nb::tuple& state) {
            new (&stream) LinearStream(LinearStream::restored(state));
        });

    nb::class_<StreamCertificate>(module, "StreamCertificate")
        .def(nb::init<LinearStream&>(), nb::arg("stream"), nb::keep_alive<1, 2>())
        .def("add", &StreamCertificate::add, nb::arg("rows"), nb::arg("labels"), nb::arg("upper"),
             nb::arg("duals"))
        .def("objectives", &StreamCertificate::objectives);
}

}  // namespace polymargin::python
