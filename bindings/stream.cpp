#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <concepts>
#include <tuple>
#include <utility>
#include <variant>

#include "duals.hpp"
#include "linear.hpp"
#include "observer.hpp"

namespace polymargin::python {

namespace {

// The weights of a stream, in either store and precision.
class LinearStream {
public:
    // Of weights in either store, for one pass over all examples without visits in between.
    using Sums = std::variant<PassingCertificate<DenseWeights<double>>,
                              PassingCertificate<SparseWeights<double>>>;

    LinearStream(std::size_t features, int k, const std::string& machine, const Options& options,
                 nb::object dtype)
        : machine_(machine), options_(options), k_(k), features_(features) {
        machine_of(machine);
        if (k < 2) throw nb::value_error("at least two classes are needed");
        const std::string kind = nb::cast<std::string>(nb::str(nb::getattr(dtype, "name")));
        if (kind == "float32") start<float>();
        else if (kind == "float64") start<double>();
        else throw nb::value_error("dtype is float32 or float64");
    }

    void visit(const Rows& rows, const Vector<std::int32_t>& labels, const Strided<double>& upper,
               AnyDuals* kept) {
        const LinearOptions core_options = options_.for_machine(machine_of(machine_));
        PythonObserver watcher{nb::none()};
        const Observer observer = watcher.observer();
        with_problem(rows, labels, upper, [&]<class Store>(const auto& problem, Store& weights) {
            using T = typename Store::value_type;
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

    Sums begin_check() {
        centre();
        return std::visit(
            [&]<class Store>(const Store&) -> Sums {
                return PassingCertificate<typename Store::InDouble>(features_, k_, bias());
            },
            weights_);
    }

    void check(const Rows& rows, const Vector<std::int32_t>& labels, const Strided<double>& upper,
               AnyDuals& kept, Sums& sums) {
        with_problem(rows, labels, upper, [&]<class Store>(const auto& problem, Store& weights) {
            const auto& duals = duals_of<typename Store::value_type>(kept, problem.size());
            auto& certificate = std::get<PassingCertificate<typename Store::InDouble>>(sums);
            const nb::gil_scoped_release release;
            check_stream(problem, weights, duals, certificate);
        });
    }

    Certificate certificate(const Sums& sums) const {
        return std::visit([](const auto& weights, const auto& found) { return found.at(weights); },
                          weights_, sums);
    }

    // A copy, centred where the machine is zero-sum.
    std::pair<nb::object, nb::object> weights() const {
        return std::visit(
            [&]<class Store>(const Store& weights) {
                const bool has_mean = machine_of(machine_).zero_sum && !is_centred_;
                if constexpr (is_sparse<Store>) {
                    if (!has_mean) {
                        return weights_by_class(weights,
                                                [&](auto&& body) { weights.for_each(body); });
                    }
                }
                Store copy = weights.copy();
                if (has_mean) copy.centre();
                return weight_views(std::move(copy));
            },
            weights_);
    }

    // The weights by feature, the bias last: all of them, or (data, indices, indptr) of compressed
    // sparse rows.
    nb::tuple state() const {
        const nb::object matrix = std::visit(
            []<class Store>(const Store& weights) -> nb::object {
                if constexpr (is_sparse<Store>) {
                    auto lists = weights.lists();
                    return nb::make_tuple(to_numpy(std::move(lists.values)),
                                          to_numpy(std::move(lists.classes)),
                                          to_numpy(std::move(lists.ends)));
                } else {
                    return to_numpy(weights.packed());
                }
            },
            weights_);
        return nb::make_tuple(features_, k_, machine_, options_state(options_), n_seen_, matrix);
    }

    static LinearStream restored(const nb::tuple& state) {
        const nb::object matrix = state[5];
        const bool has_lists = nb::isinstance<nb::tuple>(matrix);
        Options options = options_from<Options>(nb::cast<nb::dict>(state[3]));
        options.weights = has_lists ? "sparse" : "dense";
        LinearStream stream(nb::cast<std::size_t>(state[0]), nb::cast<int>(state[1]),
                            nb::cast<std::string>(state[2]), options,
                            (has_lists ? nb::object(matrix[0]) : matrix).attr("dtype"));
        stream.n_seen_ = nb::cast<std::size_t>(state[4]);
        const bool fits = std::visit(
            [&]<class Store>(Store& weights) {
                using T = typename Store::value_type;
                if constexpr (is_sparse<Store>) {
                    const auto values = nb::cast<Vector<T>>(matrix[0]);
                    const auto classes = nb::cast<Vector<std::int32_t>>(matrix[1]);
                    const auto ends = nb::cast<Vector<std::int64_t>>(matrix[2]);
                    return weights.unpack({{ends.data(), ends.size()},
                                           {classes.data(), classes.size()},
                                           {values.data(), values.size()}});
                } else {
                    const auto packed = nb::cast<Vector<T>>(matrix);
                    return weights.unpack({packed.data(), packed.size()});
                }
            },
            stream.weights_);
        if (!fits) throw nb::value_error("the stored stream is inconsistent");
        return stream;
    }

    std::size_t n_seen() const { return n_seen_; }

    nb::object dtype() const {
        const bool is_float = std::visit(
            []<class Store>(const Store&) {
                return std::same_as<typename Store::value_type, float>;
            },
            weights_);
        return nb::module_::import_("numpy").attr("dtype")(is_float ? "float32" : "float64");
    }

private:
    template <class Store>
    static constexpr bool is_sparse =
        std::same_as<Store, SparseWeights<typename Store::value_type>>;

    template <class T>
    void start() {
        if (options_.has_sparse_weights()) {
            weights_.emplace<SparseWeights<T>>(features_, k_, bias());
        } else {
            weights_.emplace<DenseWeights<T>>(features_, k_, bias());
        }
    }

    bool bias() const { return options_.fit_intercept; }

    template <class Body>
    void with_problem(const Rows& rows, const Vector<std::int32_t>& labels,
                      const Strided<double>& upper, Body&& body) {
        check_labels(labels, upper, rows.size(), k_);
        if (rows.features() != features_) throw nb::value_error("the number of features changed");
        std::visit(
            [&]<class View, class Store>(const View& view, Store& weights) {
                if constexpr (std::same_as<typename View::value_type, typename Store::value_type>) {
                    body(LinearProblem<View>{view,
                                             rows.norms(),
                                             {labels.data(), labels.size()},
                                             {upper.data(), upper.stride(0)},
                                             k_,
                                             machine_of(machine_),
                                             bias()},
                         weights);
                } else {
                    throw nb::value_error("the precision of the rows changed");
                }
            },
            rows.view, weights_);
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
    std::variant<DenseWeights<float>, DenseWeights<double>, SparseWeights<float>,
                 SparseWeights<double>>
        weights_{std::in_place_type<DenseWeights<float>>, 1, 1, false};
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
    LinearStream::Sums sums_;
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
