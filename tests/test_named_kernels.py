"""What the classes of named kernels say of themselves is true."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from polymargin import KernelSVM
from polymargin.kernel import KERNELS, NAMED_KERNELS, Kernel, has_gamma, make_kernel

GIVEN = {"gamma": 0.3, "coef0": 0.5, "degree": 2}
OTHER = {"gamma": 0.7, "coef0": 0.9, "degree": 3}


@pytest.fixture
def rows(seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(9, 4))


def kernel_of(name: str, X: Any, bias: bool = False, **params: Any) -> Kernel:
    given: dict[str, Any] = GIVEN | params
    return make_kernel(name, X, np.ones(X.shape[0]), **given, bias=bias)


def values_of(kernel: Kernel, X: Any) -> Any:
    points = kernel.prepare(X)
    out = np.empty((len(points), len(points)))
    kernel.evaluate(points, points, out, 1)
    return out


def test_an_estimator_takes_all_of_them_and_matrices() -> None:
    assert (*NAMED_KERNELS, "precomputed") == KERNELS
    for name in NAMED_KERNELS:
        KernelSVM(kernel=name).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="'kernel' parameter"):
        KernelSVM(kernel="cosine").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("parameter", OTHER)
@pytest.mark.parametrize("name", NAMED_KERNELS)
def test_a_kernel_depends_on_its_parameters_alone(name: str, parameter: str, rows: Any) -> None:
    before = values_of(kernel_of(name, rows), rows)
    after = values_of(kernel_of(name, rows, **{parameter: OTHER[parameter]}), rows)
    depends = not np.array_equal(before, after)
    assert depends == (parameter in NAMED_KERNELS[name].parameters)
    if parameter == "gamma":
        assert has_gamma(name) == depends


def test_nothing_else_has_gamma() -> None:
    assert not has_gamma("precomputed")
    assert not has_gamma(np.dot)
    assert not has_gamma(None)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", NAMED_KERNELS)
def test_diagonal(name: str, layout: Any, bias: bool, rows: Any) -> None:
    X = layout(np.where(np.abs(rows) < 0.8, 0, rows))
    kernel = kernel_of(name, X, bias)
    diagonal = kernel.diagonal(kernel.prepare(X))
    np.testing.assert_allclose(diagonal, values_of(kernel, X).diagonal(), rtol=1e-12)


@pytest.mark.parametrize("name", NAMED_KERNELS)
def test_measures_do_not_depend_on_gamma(name: str, rows: Any) -> None:
    measured = []
    for gamma in (0.3, 0.7):
        kernel: Any = kernel_of(name, rows, gamma=gamma)
        points, out = kernel.prepare(rows), np.empty((9, 9))
        kernel.measure(points, points, out, 1)
        measured.append(out.copy())
        kernel.apply(out, points.norms, points.norms, 1)
        np.testing.assert_array_equal(out, values_of(kernel, rows))
    np.testing.assert_array_equal(*measured)


@pytest.mark.parametrize("name", NAMED_KERNELS)
@pytest.mark.parametrize("coef0", [-0.5, 0.5])
def test_those_called_positive_are(name: str, coef0: float, rows: Any) -> None:
    kernel = kernel_of(name, rows, coef0=coef0)
    least = np.linalg.eigvalsh(values_of(kernel, rows)).min()
    assert not kernel.is_positive or least > -1e-12


def test_guide_and_help_name_all() -> None:
    from polymargin.cli._options import KernelOption

    guide = Path(__file__).parents[1] / "docs/guide/kernels.md"
    table = guide.read_text(encoding="utf-8")
    shown = KernelOption.__metadata__[0].help
    for name in NAMED_KERNELS:
        assert f'| `"{name}"` |' in table
        assert name in shown
        assert f'``"{name}"``' in (KernelSVM.__doc__ or "")
