#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "duals.hpp"
#include "linear.hpp"

namespace polymargin::python {

namespace {

// Rows of any kind.
struct Dealt {
    virtual ~Dealt() = default;
    virtual std::pair<double, double> norms() const = 0;
    virtual nb::object own_scores() const = 0;
    virtual std::tuple<double, double, double> check(const Vector<double>& own_scores) const = 0;
    virtual nb::object weights(nb::handle owner) = 0;
    virtual void correct(const nb::object& weights, const Vector<std::int32_t>& classes) = 0;
};

template <class View>
class DealtOf : public Dealt {
public:
    using T = typename View::value_type;

    DealtOf(const View& view, const Rows& rows, const Vector<std::int32_t>& labels,
            const Strided<double>& upper, const Lanes& lanes, const Machine& machine, bool bias,
            const AnyDuals& duals)
        : labels_(labels),
          upper_(upper),
          problem_{view,
                   rows.norms(),
                   {labels_.data(), labels_.size()},
                   {upper_.data(), upper_.stride(0)},
                   lanes.classes(),
                   machine,
                   bias},
          duals_(start_duals<T>(problem_, &duals)),
          weights_(view.features(), lanes, bias) {
        const nb::gil_scoped_release release;
        norm_in_double_ = rebuild_own_classes(problem_, duals_, weights_);
        norm_ = weights_.squared_norm(false);
    }

    std::pair<double, double> norms() const override { return {norm_, norm_in_double_}; }

    nb::object own_scores() const override {
        std::vector<double> scores(problem_.size());
        {
            const nb::gil_scoped_release release;
            score_own_classes(problem_, weights_, std::span<double>(scores));
        }
        return to_numpy(std::move(scores));
    }

    std::tuple<double, double, double> check(const Vector<double>& own_scores) const override {
        if (own_scores.size() != problem_.size()) throw nb::value_error("a score for each row");
        const nb::gil_scoped_release release;
        const std::span<const double> scores(own_scores.data(), own_scores.size());
        const CertificateSums sums = check_own_classes(problem_, weights_, duals_, scores);
        return {sums.loss.value(), sums.margins.value(), sums.violation};
    }

    nb::object weights(nb::handle owner) override {
        const auto [values, d, k, stride, bias] = weights_.view();
        const std::int64_t strides[] = {std::int64_t(stride), 1};
        const std::size_t shape[] = {d + bias, k};
        return nb::ndarray<nb::numpy, T>(values, 2, shape, owner, strides).cast();
    }

    void correct(const nb::object& object, const Vector<std::int32_t>& classes) override {
        const auto weights = nb::cast<Changing<T>>(object);
        check_rows_contiguous(weights);
        if (weights.shape(0) != problem_.features() || weights.shape(1) != classes.size()) {
            throw nb::value_error("the weights need a row per feature and a column per class");
        }
        std::vector<std::size_t> lanes;
        for (std::size_t at = 0; at < classes.size(); ++at) {
            const int lane = weights_.lanes().lane_of(classes.data()[at]);
            if (lane < 0) throw nb::value_error("the weights of a class are not here");
            lanes.push_back(static_cast<std::size_t>(lane));
        }
        const nb::gil_scoped_release release;
        weights_.correct(lanes, weights.data(), static_cast<std::size_t>(weights.stride(0)));
    }

private:
    Vector<std::int32_t> labels_;
    Strided<double> upper_;
    LinearProblem<View> problem_;
    Duals<T> duals_;
    DenseWeights<T> weights_;
    double norm_ = 0, norm_in_double_ = 0;
};

std::unique_ptr<Dealt> make_dealt(const Rows& rows, const Vector<std::int32_t>& labels,
                                  const Strided<double>& upper, int k, const std::string& name,
                                  const Vector<std::int32_t>& classes, const AnyDuals& duals,
                                  bool bias) {
    const Machine& machine = machine_of(name);
    if (machine.simplex() || machine.zero_sum) {
        throw nb::value_error("hinges have to be joined by a sum, with weights that are free");
    }
    check_labels(labels, upper, rows.size(), k);
    std::vector<std::int32_t> held(classes.data(), classes.data() + classes.size());
    for (std::size_t at = 0; at < held.size(); ++at) {
        if (held[at] < (at ? held[at - 1] + 1 : 0) || held[at] >= k) {
            throw nb::value_error("classes have to ascend within [0, n_classes)");
        }
    }
    const Lanes lanes = held.empty() ? Lanes(k, 0, 0) : Lanes(k, std::move(held));
    return std::visit(
        [&](const auto& view) -> std::unique_ptr<Dealt> {
            using View = std::decay_t<decltype(view)>;
            return std::make_unique<DealtOf<View>>(view, rows, labels, upper, lanes, machine, bias,
                                                   duals);
        },
        rows.view);
}

}  // namespace

void bind_dealt(nb::module_& module) {
    nb::class_<Dealt>(module, "DealtCheck")
        .def(nb::new_(&make_dealt), nb::arg("rows"), nb::arg("labels"), nb::arg("upper"),
             nb::arg("n_classes"), nb::arg("machine"), nb::arg("classes"), nb::arg("duals"),
             nb::arg("fit_intercept"), nb::keep_alive<0, 2>())
        .def_prop_ro("norms", &Dealt::norms)
        .def_prop_ro("weights",
                     [](nb::handle self) { return nb::cast<Dealt&>(self).weights(self); })
        .def("correct", &Dealt::correct, nb::arg("weights"), nb::arg("classes"))
        .def("own_scores", &Dealt::own_scores)
        .def("check", &Dealt::check, nb::arg("own_scores"));
}

}  // namespace polymargin::python
