"""scikit-learn's own checks, for every machine."""

from collections.abc import Callable
from typing import Any

import pytest
from conftest import MACHINES
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import KernelSVM, LinearSVM

_REASON = "compares scores to 1e-7, which the default tol does not promise"
_EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_sample_weight_equivalence_on_sparse_data": _REASON,
}


# Single precision cannot reach such a gap, and says so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [LinearSVM(name, tol=1e-12, max_iter=100_000) for name in MACHINES]
    + [KernelSVM(name, tol=1e-12, max_iter=10_000) for name in MACHINES]
    + [KernelSVM(name, kernel="precomputed", tol=1e-12, max_iter=10_000) for name in ("ww", "llw")]
    + [KernelSVM("cs", kernel="precomputed", fit_intercept=True, tol=1e-12, max_iter=10_000)]
)
def test_all_checks_pass_at_tight_tol(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [estimator(name) for estimator in (LinearSVM, KernelSVM) for name in MACHINES],
    expected_failed_checks=lambda _: _EXPECTED,
)
def test_checks_pass_at_default_tol(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


_NO_LARGEST = {
    "check_classifiers_train": "asks that predict be the class of the largest probability"
}
_NO_MATRIX = {
    "check_decision_proba_consistency": "passes rows to an estimator that takes a kernel matrix"
}
_TIGHT: dict[str, Any] = {"tol": 1e-12, "max_iter": 2000}
_SOME = [name for name in ("ww", "llw") if name in MACHINES]


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows, and of single precision
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [LinearSVM(name, calibration="temperature", **_TIGHT) for name in _SOME]
    + [KernelSVM(calibration="temperature", **_TIGHT)]
)
def test_all_checks_pass_with_a_temperature(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows, and of single precision
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [KernelSVM(kernel="precomputed", calibration="temperature", **_TIGHT)],
    expected_failed_checks=lambda _: _NO_MATRIX,
)
def test_checks_pass_with_a_kernel_matrix(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows, and of single precision
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [LinearSVM(calibration=name, **_TIGHT) for name in ("sigmoid", "isotonic")],
    expected_failed_checks=lambda _: _NO_LARGEST,
)
def test_checks_pass_by_class(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
