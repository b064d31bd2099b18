"""Streams that are read several times: the duals of the last pass make it the same problem."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import fit_linear
from reference.optima import Problem, primal_objective
from scipy import sparse
from stream_helpers import SVM, as_array, assert_same, in_batches

from polymargin import core, load, save
from polymargin.errors import DataError
from polymargin.streams import _fit, fit_stream
from polymargin.streams._scratch import DualScratch


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_many_passes_reach_the_optimum(
    svm: SVM, machine: str, blobs: tuple[Any, Any], as_rows: Any
) -> None:
    X, y = blobs
    optimum = fit_linear(X, y, machine, C=0.05).primal_objective_
    model = fit_stream(
        svm(machine, C=0.05, tol=1e-2), in_batches(as_rows(X), y), np.unique(y), passes=300
    )
    assert model.dual_gap_ <= 1e-2
    assert model.converged_
    assert model.dual_objective_ <= optimum * (1 + 1e-7)
    assert model.primal_objective_ >= optimum * (1 - 1e-7)
    assert model.primal_objective_ == pytest.approx(optimum, rel=1e-2)


def test_certificate_is_that_of_the_weights(svm: SVM, machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = fit_stream(svm(machine, C=0.1), in_batches(X, y), np.unique(y), passes=3)
    again = fit_linear(X, y, machine, C=0.1, tol=1e-9)
    # P is a bound wherever the weights are; D too, and both are far from the optimum here.
    assert model.dual_objective_ < again.dual_objective_ < model.primal_objective_
    assert model.n_iter_ == 3
    assert model.history_["epoch"].tolist() == [3.0]


@pytest.mark.parametrize(("tol", "converged"), [(0.9, True), (1e-9, False)])
def test_history_is_the_certificate(
    svm: SVM, tol: float, converged: bool, blobs: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    clock = iter([100.0, 250.0])
    monkeypatch.setattr(_fit, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    model = fit_stream(svm(C=0.1, tol=tol), in_batches(X, y), np.unique(y), passes=3)
    (check,) = model.history_
    assert (check["epoch"], check["seconds"], check["active"]) == (3.0, 150.0, len(y))
    assert (check["primal"], check["dual"]) == (model.primal_objective_, model.dual_objective_)
    assert check["gap"] == model.dual_gap_
    assert check["violation"] > 0
    assert model.converged_ == converged


def test_certificate_holds_for_the_rows_it_was_made_from(
    svm: SVM, machine: str, blobs: tuple[Any, Any]
) -> None:
    """Both objectives come from dual variables and rows, whatever the weights have gone through."""
    X, y = blobs
    scales = iter([1.0, 1.0, 1.0, 1.0, 5.0])

    def batches() -> Iterator[tuple[Any, Any]]:
        yield from in_batches(next(scales) * X, y)()

    model = fit_stream(svm(machine, C=0.1), batches, np.unique(y), passes=4)
    optimum = fit_linear(5 * X, y, machine, C=0.1, tol=1e-6)
    assert model.dual_objective_ <= optimum.primal_objective_
    assert model.primal_objective_ >= optimum.dual_objective_


def test_certificate_is_of_the_weights_returned(
    svm: SVM, machine: str, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    model = fit_stream(svm(machine, C=0.1), in_batches(X, y), np.unique(y), passes=3)
    problem = Problem("blobs", machine, 0.1, True, X, y, None, None)
    expected = primal_objective(problem, as_array(model.coef_), model.intercept_)
    assert model.primal_objective_ == pytest.approx(expected, rel=1e-12)


def test_objectives_that_are_no_numbers_certify_nothing(svm: SVM) -> None:
    X = 1e100 * np.random.default_rng(0).normal(size=(60, 4))
    y = np.arange(60) % 3
    model = fit_stream(svm("cs", C=1e100), in_batches(X, y), [0, 1, 2], passes=2)
    assert np.isnan(model.primal_objective_)
    assert np.isnan(model.dual_gap_)
    assert not model.converged_
    assert np.isnan(model.history_["gap"]).all()


@pytest.mark.parametrize(
    ("primal", "dual", "gap"),
    [
        (4.0, 3.0, 0.25),
        (4.0, 4.5, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, -1.0, np.inf),
        (np.nan, 1.0, np.nan),
        (1.0, np.nan, np.nan),
        (np.inf, 1.0, np.nan),
        (-1.0, -2.0, np.nan),
    ],
)
def test_relative_gap(primal: float, dual: float, gap: float) -> None:
    assert core.relative_gap(primal, dual) == pytest.approx(gap, nan_ok=True)


def test_one_pass_is_partial_fit(svm: SVM, machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    by_batches = svm(machine, C=0.1, random_state=0)
    for X_part, y_part in in_batches(X, y)():
        by_batches.partial_fit(X_part, y_part, classes=np.unique(y))
    model = svm(machine, C=0.1, random_state=0)
    fit_stream(model, in_batches(X, y), np.unique(y), shuffle_size=0)
    assert_same(model.coef_, by_batches.coef_)
    assert not hasattr(model, "dual_gap_")
    assert model.n_samples_seen_ == len(y)
    model.partial_fit(X, y)
    assert model.n_samples_seen_ == 2 * len(y)


def test_several_passes_end_a_stream(svm: SVM, blobs: tuple[Any, Any], tmp_path: Path) -> None:
    """Their weights are those of dual variables that are gone, as after `fit`."""
    X, y = blobs
    fresh = svm(C=0.1, random_state=0).partial_fit(X[:9], y[:9], classes=np.unique(y))
    model = svm(C=0.1, random_state=0).partial_fit(X, y, classes=np.unique(y))
    fit_stream(model, in_batches(X, y), np.unique(y), passes=3)
    alone = fit_stream(
        svm(C=0.1, random_state=0), in_batches(X, y), np.unique(y), passes=3, certify=False
    )
    save(model, tmp_path / "m.safetensors")
    loaded, coef = load(tmp_path / "m.safetensors"), model.coef_
    for after in (model, loaded, alone):
        assert_same(after.coef_, coef)
        assert after.n_samples_seen_ == 3 * len(y)
        after.partial_fit(X[:9], y[:9])
        assert_same(after.coef_, fresh.coef_)
        assert after.n_samples_seen_ == 9
        assert not hasattr(after, "dual_gap_")


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_pass_that_keeps_no_stream(
    svm: SVM, blobs: tuple[Any, Any], is_interrupted: bool
) -> None:
    X, y = blobs
    n = 34 if is_interrupted else len(y)
    kept = svm(C=0.1, random_state=0).partial_fit(X[:n], y[:n], np.unique(y))
    fresh = svm(C=0.1, random_state=0).partial_fit(X[:9], y[:9], np.unique(y))
    model = svm(C=0.1, random_state=0)

    def stop(number: int, seen: int) -> None:
        if is_interrupted and seen == n:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        fit_stream(
            model,
            in_batches(X, y),
            np.unique(y),
            on_batch=stop,
            keep_stream=False,
            shuffle_size=0,
        )
    assert_same(model.coef_, kept.coef_)
    assert model.n_samples_seen_ == n
    assert_same(model.partial_fit(X[:9], y[:9]).coef_, fresh.coef_)


def test_an_interrupted_pass_goes_on(svm: SVM, machine: str, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    whole = svm(machine, C=0.1, random_state=0).partial_fit(X[:34], y[:34], np.unique(y))
    model = svm(machine, C=0.1, random_state=0).partial_fit(X, y, np.unique(y))

    def stop(number: int, seen: int) -> None:
        if seen == 34:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_stream(model, in_batches(X, y), np.unique(y), on_batch=stop, shuffle_size=0)
    assert_same(model.coef_, whole.coef_)
    model.partial_fit(X[34:], y[34:])
    assert model.n_samples_seen_ == len(y)
    assert_same(model.coef_, whole.partial_fit(X[34:], y[34:]).coef_)


def test_what_is_refused_at_once_leaves_the_old_stream(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = svm(C=0.1, random_state=0).partial_fit(X[:30], y[:30], np.unique(y))
    for passes in (1, 2):
        with pytest.raises(ValueError, match="not in classes"):
            fit_stream(model, in_batches(X, y), [0, 1], passes=passes)
        with pytest.raises(DataError, match="no rows"):
            fit_stream(model, lambda: iter([]), np.unique(y), passes=passes)
    whole = svm(C=0.1, random_state=0).partial_fit(X, y, np.unique(y))
    assert_same(model.partial_fit(X[30:], y[30:]).coef_, whole.coef_)


def test_files_keep_the_passes(svm: SVM, blobs: tuple[Any, Any], tmp_path: Path) -> None:
    X, y = blobs
    for certify in (False, True):
        model = svm(C=0.1, random_state=0)
        fit_stream(model, in_batches(X, y), np.unique(y), passes=3, certify=certify)
        save(model, tmp_path / "m.safetensors")
        again = load(tmp_path / "m.safetensors")
        assert (again.n_iter_, again.n_samples_seen_) == (3, 3 * len(y))
        assert hasattr(again, "dual_gap_") == certify


def test_rows_of_weight_zero_are_passed_over(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    for passes in (1, 3):
        some, rest = (
            fit_stream(
                svm(class_weight={0: 0.0}, random_state=0),
                in_batches(X[rows], y[rows]),
                np.unique(y),
                passes=passes,
            )
            for rows in (np.arange(len(y)), np.flatnonzero(y != 0))
        )
        assert_same(some.coef_, rest.coef_)
        assert some.n_samples_seen_ == passes * np.count_nonzero(y)


def test_batches_do_not_matter(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    coefs = [
        fit_stream(svm(random_state=0), in_batches(X, y, size), np.unique(y), passes=4).coef_
        for size in (1, 7, 1000)
    ]
    for coef in coefs[1:]:
        assert_same(coef, coefs[0])


def test_a_file_that_changes_between_passes_is_noticed(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    sizes = iter([0])

    def shrinking() -> Iterator[tuple[Any, Any]]:
        n = next(sizes)
        yield from in_batches(X[:n], y[:n])()

    for shuffle_size in (0, 1e-3, 64):
        sizes = iter([len(y), len(y) - 5])
        with pytest.raises(DataError, match="has changed"):
            fit_stream(svm(), shrinking, np.unique(y), passes=2, shuffle_size=shuffle_size)
    sizes = iter([len(y), len(y) - len(y) % 17])
    with pytest.raises(DataError, match="fewer rows"):
        fit_stream(svm(), shrinking, np.unique(y), passes=2, shuffle_size=0)
    sizes = iter([len(y), len(y), len(y) - len(y) % 17])
    with pytest.raises(DataError, match="fewer rows"):
        fit_stream(svm(), shrinking, np.unique(y), passes=2, shuffle_size=0)


@pytest.mark.parametrize(
    ("params", "arguments", "message"),
    [
        ({}, {"passes": 0}, "at least 1"),
        ({}, {"classes": [1]}, "at least two"),
        ({}, {"classes": [0, 1]}, "not in classes: \\[2\\]"),
        ({"class_weight": "balanced"}, {}, "needs all labels"),
        ({"C": -1}, {}, "C"),
    ],
)
def test_what_cannot_be_is_refused(
    svm: SVM, blobs: tuple[Any, Any], params: Any, arguments: Any, message: str
) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match=message):
        fit_stream(svm(**params), in_batches(X, y), **({"classes": np.unique(y)} | arguments))


@pytest.mark.parametrize("passes", [1, 2])
def test_every_batch_is_told_of(svm: SVM, passes: int, blobs: tuple[Any, Any]) -> None:
    """The pass that certifies as one more."""
    X, y = blobs
    told: list[tuple[int, int]] = []
    model = svm()
    fit_stream(
        model,
        in_batches(X, y, 25),
        np.unique(y),
        passes=passes,
        on_batch=lambda *given: told.append(given),
        shuffle_size=0,
    )
    n_read = passes if passes == 1 else passes + 1
    assert told == [(number, seen) for number in range(n_read) for seen in (25, 50, 60)]
    assert passes == 1 or model.n_iter_ == passes


def test_nothing_to_read(svm: SVM) -> None:
    for passes in (1, 2):
        with pytest.raises(DataError, match="no rows"):
            fit_stream(svm(), lambda: iter([]), [0, 1], passes=passes)


def test_an_interrupt_leaves_what_was_reached(svm: SVM, blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    model = svm()

    def stop(number: int, seen: int) -> None:
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_stream(model, in_batches(X, y), np.unique(y), passes=5, on_batch=stop, shuffle_size=0)
    assert model.predict(X).shape == y.shape
    assert model.n_samples_seen_ == len(y) + 17
    assert model.n_iter_ == 1
    assert model.partial_fit(X[:5], y[:5]).n_samples_seen_ == 5


def test_an_interrupt_before_the_first_visit(
    svm: SVM, blobs: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DualScratch, "read", interrupt)
    model, (X, y) = svm(), blobs
    with pytest.raises(KeyboardInterrupt):
        fit_stream(model, in_batches(X, y), np.unique(y), passes=2)
    assert model.n_samples_seen_ == 0
    assert not np.any(as_array(model.coef_))


def test_an_interrupted_certificate_leaves_the_weights(
    svm: SVM, machine: str, blobs: tuple[Any, Any]
) -> None:
    X, y = blobs
    model = svm(machine, random_state=0)

    def stop(number: int, seen: int) -> None:
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_stream(model, in_batches(X, y), np.unique(y), passes=3, on_batch=stop)
    whole = fit_stream(svm(machine, random_state=0), in_batches(X, y), np.unique(y), passes=3)
    assert_same(model.coef_, whole.coef_)
    assert (model.n_iter_, model.n_samples_seen_) == (3, 3 * len(y))
    assert not hasattr(model, "dual_gap_")


@pytest.mark.parametrize("n_classes", [3, 40, 300])
def test_scratch_gives_back_what_it_was_given(n_classes: int, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    passes = []
    with DualScratch(n_classes, np.dtype(np.float64), tmp_path) as scratch:
        for _ in range(3):
            for n_rows, expected in passes or [(n, None) for n in (5, 0, 70)]:
                duals = scratch.read(n_rows)
                if expected is None:
                    assert duals.nnz == 0
                else:
                    for one, other in zip(duals.__getstate__(), expected, strict=True):
                        np.testing.assert_array_equal(one, other)
            passes = []
            for n_rows in (5, 0, 70):
                dense = np.where(
                    random.random((n_rows, n_classes)) < 0.1, random.random((n_rows, n_classes)), 0
                )
                rows = sparse.csr_array(dense)
                state = (
                    n_classes,
                    rows.indptr.astype(np.int64),
                    rows.indices.astype(np.int32),
                    rows.data,
                )
                duals = core.Duals.__new__(core.Duals)
                duals.__setstate__(state)
                scratch.write(duals)
                passes.append((n_rows, state))
            scratch.end_pass()
    assert not list(tmp_path.iterdir())


_BOUNDED = """
import resource, sys
import numpy as np
from polymargin import LinearSVM
from polymargin.streams import fit_stream

n_batches = int(sys.argv[1])

def batches():
    for number in range(n_batches):
        random = np.random.default_rng(number)
        y = random.integers(10, size=2000)
        yield random.normal(size=(2000, 20)) + 0.1 * y[:, None], y

fit_stream(LinearSVM(C=1.0), batches, range(10), passes=2, shuffle_size=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_rows() -> None:
    """The duals of the longer stream alone take 60 MB."""
    assert resource.RLIMIT_AS  # a system that can tell

    def peak(n_batches: int) -> int:
        run = subprocess.run(
            [sys.executable, "-c", _BOUNDED, str(n_batches)],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(run.stdout)

    assert peak(400) - peak(10) < 45_000  # kB; two windows of what is not yet let go
