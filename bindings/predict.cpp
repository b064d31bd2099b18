#include "polymargin/linear/train.hpp"
#include "rows.hpp"

namespace polymargin::python {

namespace {

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

void bind_predict(nb::module_& module) {
    module.def("scores", &scores_of<float>, nb::arg("rows"), nb::arg("coef").noconvert(),
               nb::arg("intercept").noconvert(), nb::arg("n_threads") = 1);
    module.def("scores", &scores_of<double>, nb::arg("rows"), nb::arg("coef").noconvert(),
               nb::arg("intercept").noconvert(), nb::arg("n_threads") = 1);
}

}  // namespace polymargin::python
