// What Python sees of a fit while it runs.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <vector>

#include "polymargin/linear/problem.hpp"

namespace polymargin::python {

namespace nb = nanobind;

inline nb::object history_array(const std::vector<Record>& history) {
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

// Signals and the monitor's exceptions reach Python after the fit has been put in order.
class PythonObserver {
public:
    // `poll` is called as often as signals are looked for; it raises what has to end the fit.
    // `keeper` is given the dual variables and the history after a check at which they are due.
    explicit PythonObserver(nb::object monitor, nb::object poll = nb::none(),
                            nb::object keeper = nb::none(),
                            std::function<nb::object()> duals = nullptr)
        : monitor_(std::move(monitor)),
          poll_(std::move(poll)),
          keeper_(std::move(keeper)),
          duals_(std::move(duals)) {}

    Observer observer() {
        return {.on_check =
                    [this](const Record& record) {
                        history.push_back(record);
                        const nb::gil_scoped_acquire gil;
                        return guarded([&] {
                            keep_if_due();
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
                        return guarded([this] {
                            if (PyErr_CheckSignals() != 0) throw nb::python_error();
                            if (!poll_.is_none()) poll_();
                            return false;
                        });
                    }};
    }

    std::vector<Record> history;
    nb::object exception = nb::none();

private:
    void keep_if_due() {
        if (keeper_.is_none() || !nb::cast<bool>(keeper_.attr("is_due")())) return;
        keeper_.attr("keep")(duals_(), history_array(history));
    }

    template <class Body>
    bool guarded(Body&& body) {
        try {
            return body();
        } catch (nb::python_error& error) {
            exception = nb::borrow(error.value());
            return true;
        }
    }
    nb::object monitor_, poll_, keeper_;
    std::function<nb::object()> duals_;
};

}  // namespace polymargin::python
