#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <tuple>
#include <utility>

#include "duals.hpp"
#include "linear.hpp"
#include "observer.hpp"

namespace polymargin::python {

namespace {

template <class T>
using Memory = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rows of any kind.
struct Local {
    virtual ~Local() = default;
    virtual void set_sigma(double sigma) = 0;
    virtual void begin(bool all) = 0;
    virtual std::tuple<double, double, nb::object> descend(std::size_t part, std::size_t parts,
                                                           double negligible, nb::object poll) = 0;
    virtual void end() = 0;
    virtual nb::object idle(nb::handle owner) = 0;
    virtual nb::object left_out() = 0;
    virtual void take_back() = 0;
    virtual std::tuple<double, double, double, nb::object> check() = 0;
    virtual nb::object weights(nb::handle owner) = 0;
    virtual nb::object duals() const = 0;
};

template <class View>
class LocalOf : public Local {
public:
    using T = typename View::value_type;

    LocalOf(const View& view, const Rows& rows, const Vector<std::int32_t>& labels,
            const Strided<double>& upper, int k, const Machine& machine, const Options& options,
            const AnyDuals* warm, int held, const nb::object& memory)
        : machine_(machine),
          held_(held),
          labels_(labels),
          upper_(upper),
          problem_{view,
                   rows.norms(),
                   {labels_.data(), labels_.size()},
                   {upper_.data(), upper_.stride(0)},
                   k,
                   machine_,
                   options.fit_intercept},
          options_(options.for_machine(machine)),
          duals_(start_duals<T>(problem_, warm)),
          weights_(memory.is_none() ? problem_.template weights<DenseWeights<T>>()
                                    : in_memory(nb::cast<Memory<T>>(memory))),
          descent_(problem_, options_, duals_, weights_) {}

    void set_sigma(double sigma) override {
        if (!(sigma >= 1)) throw nb::value_error("sigma is at least 1");
        descent_.set_sigma(sigma);
    }
    void begin(bool all) override { descent_.begin(all); }
    std::tuple<double, double, nb::object> descend(std::size_t part, std::size_t parts,
                                                   double negligible, nb::object poll) override {
        if (part >= parts) throw nb::value_error("a sweep has fewer parts");
        PythonObserver watcher(nb::none(), std::move(poll));
        const Observer observer = watcher.observer();
        std::pair<double, double> met;
        {
            const nb::gil_scoped_release release;
            met = polymargin::descend(descent_, part, parts, negligible, observer);
        }
        return {met.first, met.second, watcher.exception};
    }
    void end() override { descent_.end(); }
    nb::object idle(nb::handle owner) override {
        const auto marks = descent_.idle().marks();
        return nb::ndarray<nb::numpy, std::uint32_t>(marks.data(), {marks.size()}, owner).cast();
    }
    nb::object left_out() override {
        std::vector<std::uint8_t> rows(problem_.size());
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = descent_.idle().leaves_out(i);
        return to_numpy(std::move(rows));
    }
    void take_back() override { descent_.idle().take_back(); }

    std::tuple<double, double, double, nb::object> check() override {
        const Lanes lanes(problem_.k, 0, held_);
        PassingCertificate<DenseWeights<double>> certificate(problem_.rows.features(), lanes,
                                                             problem_.bias);
        {
            const nb::gil_scoped_release release;
            if (machine_.zero_sum) weights_.centre();
            if (held_ == problem_.k) {
                check_stream(problem_, weights_, duals_, certificate);
            } else {
                check_stream(problem_, weights_.part(lanes), duals_, certificate);
            }
        }
        const CertificateSums& sums = certificate.sums();
        return {sums.loss.value(), sums.margins.value(), sums.violation,
                to_numpy(certificate.W().packed())};
    }

    nb::object weights(nb::handle owner) override {
        const auto [values, d, k, stride, bias] = weights_.view();
        return nb::ndarray<nb::numpy, T>(values, {d + bias, stride}, owner).cast();
    }

    nb::object duals() const override { return nb::cast(AnyDuals{duals_.copy()}); }

private:
    DenseWeights<T> in_memory(const Memory<T>& memory) const {
        DenseWeights<T> weights(problem_.rows.features(), problem_.k, problem_.bias, memory.data());
        if (memory.size() * sizeof(T) < weights.bytes()) {
            throw nb::value_error("the weights need more memory");
        }
        return weights;
    }

    Machine machine_;
    int held_;  // classes that count, the first ones
    Vector<std::int32_t> labels_;
    Strided<double> upper_;
    LinearProblem<View> problem_;
    LinearOptions options_;
    Duals<T> duals_;
    DenseWeights<T> weights_;
    LocalDescent<View, DenseWeights<T>> descent_;
};

std::unique_ptr<Local> make_local(const Rows& rows, const Vector<std::int32_t>& labels,
                                  const Strided<double>& upper, int k, const std::string& name,
                                  const Options& options, const AnyDuals* warm, int held,
                                  bool has_mean, const nb::object& memory) {
    Machine machine = machine_of(name);
    machine.zero_sum = machine.zero_sum && has_mean;
    if (held < 0 || held > k) throw nb::value_error("so many classes are not there");
    check_labels(labels, upper, rows.size(), k);
    if (rows.size() >= UINT32_MAX) throw nb::value_error("at most 2^32 - 2 rows are supported");
    return std::visit(
        [&](const auto& view) -> std::unique_ptr<Local> {
            using View = std::decay_t<decltype(view)>;
            return std::make_unique<LocalOf<View>>(view, rows, labels, upper, k, machine, options,
                                                   warm, held ? held : k, memory);
        },
        rows.view);
}

}  // namespace

void bind_local(nb::module_& module) {
    nb::class_<Local>(module, "LocalDescent")
        .def(nb::new_(&make_local), nb::arg("rows"), nb::arg("labels"), nb::arg("upper"),
             nb::arg("n_classes"), nb::arg("machine"), nb::arg("options"),
             nb::arg("warm").none() = nb::none(), nb::arg("held") = 0, nb::arg("has_mean") = true,
             nb::arg("memory") = nb::none(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 11>())
        .def("set_sigma", &Local::set_sigma, nb::arg("sigma"))
        .def("begin", &Local::begin, nb::arg("all"))
        .def("descend", &Local::descend, nb::arg("part"), nb::arg("parts"), nb::arg("negligible"),
             nb::arg("poll").none() = nb::none())
        .def("end", &Local::end)
        .def("check", &Local::check)
        .def("take_back", &Local::take_back)
        .def("left_out", &Local::left_out)
        .def_prop_ro("idle", [](nb::handle self) { return nb::cast<Local&>(self).idle(self); })
        .def_prop_ro("weights",
                     [](nb::handle self) { return nb::cast<Local&>(self).weights(self); })
        .def("duals", &Local::duals);
}

}  // namespace polymargin::python
