"""Rows of a stream are shuffled on the way, and those that come in runs all the same are told."""

import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import load_data
from scipy import sparse

from polymargin import LinearSVM
from polymargin.fit import Problem, make_problem
from polymargin.streams import SortedStreamWarning, _fit, fit_stream
from polymargin.streams._order import OrderMeter
from polymargin.streams._shuffle import ShuffleBuffer

Batches = Callable[[], Iterator[tuple[Any, Any]]]


def in_batches(X: Any, y: Any, size: int = 100) -> Batches:
    def batches() -> Iterator[tuple[Any, Any]]:
        for first in range(0, len(y), size):
            yield X[first : first + size], y[first : first + size]

    return batches


def make_rows(n: int = 900, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    return random.normal(size=(n, 4)) + 2 * np.eye(4)[y], y


def fit(X: Any, y: Any, **options: Any) -> LinearSVM:
    return fit_stream(LinearSVM(C=0.1, random_state=0), in_batches(X, y), np.unique(y), **options)


def test_a_file_in_its_own_order_is_learnt_as_well_as_a_shuffled_one() -> None:
    """The rows of satimage are pixels of an image, line by line."""
    X, y = load_data("satimage.train")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SortedStreamWarning)
        accuracy = fit(X, y).score(X, y)
    with pytest.warns(SortedStreamWarning, match="in runs"):
        in_order = fit(X, y, shuffle_size=0).score(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = fit(X[order], y[order], shuffle_size=0).score(X, y)
    assert accuracy > shuffled - 0.05
    assert accuracy > in_order + 0.1


def test_without_a_buffer_rows_are_visited_as_they_are_read() -> None:
    X, y = make_rows()
    model = LinearSVM(C=0.1, random_state=0)
    for rows, labels in in_batches(X, y)():
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    np.testing.assert_array_equal(fit(X, y, shuffle_size=0).coef_, model.coef_)
    assert not np.array_equal(fit(X, y).coef_, model.coef_)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_bytes", [1, 5000, 20_000, 1e9])
def test_all_rows_come_out_once_and_in_the_same_order(layout: Any, n_bytes: float) -> None:
    X = layout(np.arange(1.0, 701.0)[:, None] * np.ones(3))
    y = np.arange(700) % 3
    classes, upper = np.arange(3), np.arange(1.0, 701.0)
    problems = [
        make_problem(X[i : i + 50], y[i : i + 50], upper[i : i + 50], classes=classes)
        for i in range(0, 700, 50)
    ]
    buffer = ShuffleBuffer(n_bytes, seed=3)
    passes = [list(buffer.mixed(iter(problems))) for _ in range(2)]
    orders = [np.concatenate([part.upper for part in parts]) for parts in passes]
    np.testing.assert_array_equal(*orders)
    np.testing.assert_array_equal(np.sort(orders[0]), upper)
    assert not np.array_equal(orders[0], upper)
    for part in passes[0]:
        dense = part.X.toarray() if sparse.issparse(part.X) else part.X
        np.testing.assert_array_equal(dense[:, 0], part.upper)
        np.testing.assert_array_equal(part.labels, y[part.upper.astype(int) - 1])
        assert len(part) <= 50
    other = list(ShuffleBuffer(n_bytes, seed=4).mixed(iter(problems)))
    assert not np.array_equal(orders[0], np.concatenate([part.upper for part in other]))


def make_problems(X: Any, sizes: list[int]) -> list[Problem]:
    """Batches of these sizes, of the rows of X one after the other."""
    ends = np.cumsum(sizes)
    return [
        make_problem(X[end - n : end], np.arange(n) % 2, np.ones(n), classes=np.arange(2))
        for n, end in zip(sizes, ends, strict=True)
    ]


def n_bytes_of(problem: Problem) -> int:
    X = problem.X
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_rows_stay_while_the_buffer_holds_them(layout: Any) -> None:
    problems = make_problems(layout(np.ones((30, 2))), 30 * [1])
    read = 0

    def batches() -> Iterator[Problem]:
        nonlocal read
        for problem in problems:
            read += 1
            yield problem

    mixed = ShuffleBuffer(10 * n_bytes_of(problems[0]), seed=0).mixed(batches())
    assert len(next(mixed)) == 1
    assert read == 11
    assert {len(part) for part in mixed} == {1}  # none is longer than what came in


def test_the_buffer_never_holds_more_than_it_may() -> None:
    """Also of batches that become longer."""
    problems = make_problems(np.ones((2000, 3)), [20, 80, 100, *(300 for _ in range(6))])
    most = 400 * 3 * 8
    held = 0

    def batches() -> Iterator[Problem]:
        nonlocal held
        for problem in problems:
            assert held <= most
            held += n_bytes_of(problem)
            yield problem

    for part in ShuffleBuffer(most, seed=0).mixed(batches()):
        held -= n_bytes_of(part)
    assert held == 0


@pytest.mark.parametrize(("options", "n_bytes"), [({}, 2**26), ({"shuffle_size": 1.5}, 1_572_864)])
def test_the_size_of_the_buffer_is_in_mebibytes(
    options: Any, n_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[float] = []

    def make(n_bytes: float, seed: int) -> ShuffleBuffer:
        sizes.append(n_bytes)
        return ShuffleBuffer(n_bytes, seed)

    monkeypatch.setattr(_fit, "ShuffleBuffer", make)
    fit(*make_rows(30), **options)
    assert sizes == [n_bytes]


def test_several_passes_find_the_dual_variables_of_their_rows() -> None:
    X, y = make_rows()
    small = 4000 / 2**20
    model = fit(X, y, passes=60, shuffle_size=small)
    exact = LinearSVM(C=0.1, tol=1e-8, random_state=0).fit(X, y)
    assert model.dual_objective_ <= exact.primal_objective_
    assert model.dual_gap_ < 1e-2
    assert model.primal_objective_ == pytest.approx(exact.primal_objective_, rel=1e-2)
    again = fit(X, y, passes=60, shuffle_size=small)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_memory_is_that_of_the_buffer() -> None:
    X, y = make_rows(100)

    def peak(n_batches: int) -> int:
        def batches() -> Iterator[tuple[Any, Any]]:
            for _ in range(n_batches):
                yield np.repeat(X, 50, axis=1), y  # 160 kB

        tracemalloc.start()
        fit_stream(LinearSVM(C=0.1, random_state=0), batches, [0, 1, 2], shuffle_size=1)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(100) < peak(20) + 2**19
    assert peak(100) < 5 * 2**20


@pytest.mark.parametrize("given", [-1, "all", None, float("nan")])
def test_sizes_that_are_none(given: Any) -> None:
    X, y = make_rows(30)
    with pytest.raises(ValueError, match="shuffle_size"):
        fit(X, y, shuffle_size=given)


def measure(labels: Any, n_classes: int = 20) -> OrderMeter:
    meter = OrderMeter(n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SortedStreamWarning)
        for first in range(0, len(labels), 77):
            meter.add(np.asarray(labels[first : first + 77], np.int32))
    return meter


def test_measure_of_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    uniform = random.integers(20, size=3000)
    sticky = uniform.copy()
    for i in range(1, 3000):
        if random.random() < 0.33:
            sticky[i] = sticky[i - 1]
    assert measure(sticky).has_runs
    assert measure(sticky).same == pytest.approx(np.mean(sticky[1:] == sticky[:-1]))
    assert measure(np.sort(uniform)).has_runs
    assert measure(np.zeros(2000, int)).has_runs
    assert not measure(uniform).has_runs
    assert not measure((random.random(3000) < 0.02).astype(int)).has_runs
    assert not measure(np.arange(3000) % 20).has_runs
    assert not measure(np.zeros(50, int)).has_runs


def test_runs_are_told_once_and_early() -> None:
    X, y = make_rows(5000)
    order = np.argsort(y, kind="stable")
    seen: list[int] = []
    with pytest.warns(SortedStreamWarning) as told:
        fit(X[order], y[order], shuffle_size=0, passes=2, on_batch=lambda _, n: seen.append(n))
    assert len([w for w in told if w.category is SortedStreamWarning]) == 1
    assert "1,1" in str(told[0].message)  # of 1,100 rows


def labels_with(n_same: int, n_rows: int, n_classes: int) -> Any:
    """Labels that are equally frequent, and as many of which are those of the row before."""
    firsts = np.arange(n_rows - n_same) % n_classes
    lengths = np.ones_like(firsts)
    lengths[:n_classes] += n_rows // n_classes - np.bincount(firsts)
    return np.repeat(firsts, lengths)


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "least"),
    [
        (100, 2, 80),  # six deviations: 1/2 + 6 sqrt(1/2 * 1/2 / 100) = 0.8 of 99
        (100, 4, 51),  # 1/4 + 6 sqrt(1/4 * 3/4 / 100) = 0.51
        (10_000, 2, 5500),  # a tenth of the rest: 1/2 + 1/2 / 10 = 0.55 of 9999
        (10_000, 4, 3250),  # 1/4 + 3/4 / 10 = 0.325
    ],
)
def test_runs_are_more_equal_neighbours_than_chance_makes(
    n_rows: int, n_classes: int, least: int
) -> None:
    for n_same, has_runs in ((least, True), (least - 1, False)):
        meter = measure(labels_with(n_same, n_rows, n_classes))
        assert meter.same == n_same / (n_rows - 1)
        assert meter.by_chance == pytest.approx(1 / n_classes)
        assert meter.has_runs == has_runs


def test_the_first_row_follows_none() -> None:
    assert measure([0, 1, 1]).same == 1 / 2
    assert measure([0, 0]).same == 1
    assert measure([0]).same == 0


def test_few_rows_say_nothing() -> None:
    assert not measure(np.repeat([0, 1, 2], 33)).has_runs
    assert measure(np.repeat([0, 1, 2, 3], 25)).has_runs
    assert not measure(np.zeros(1023, int)).has_runs
    assert measure(np.zeros(1024, int)).has_runs


@pytest.mark.filterwarnings("error")
def test_rows_are_looked_at_whenever_they_have_doubled() -> None:
    one_class = OrderMeter(2)
    one_class.add(np.zeros(1023, np.int32))
    with pytest.warns(SortedStreamWarning, match="1,024 rows"):
        one_class.add(np.zeros(1, np.int32))
    meter = OrderMeter(20)
    meter.add(np.arange(1024, dtype=np.int32) % 20)
    for n_rows in (512, 511):
        meter.add(np.zeros(n_rows, np.int32))
        assert meter.has_runs
    with pytest.warns(SortedStreamWarning, match="2,048 rows") as told:
        meter.add(np.zeros(1, np.int32))
    assert told[0].filename == __file__


@pytest.mark.parametrize("n_rows", [200, 2000])
@pytest.mark.parametrize("passes", [1, 2])
def test_the_warning_names_the_line_of_the_caller(n_rows: int, passes: int) -> None:
    """Whether runs are seen on the way or at the end."""
    X, y = make_rows(n_rows)
    order = np.argsort(y)
    batches = in_batches(X[order], y[order])
    with pytest.warns(SortedStreamWarning) as told:
        fit_stream(LinearSVM(C=0.1), batches, [0, 1, 2], passes=passes, shuffle_size=0)
    assert [warning.filename for warning in told] == [__file__]


def test_a_batch_without_rows_of_positive_weight() -> None:
    X, y = make_rows(120)
    order = np.argsort(y)
    rest = order[y[order] != 0]
    models = [
        fit_stream(
            LinearSVM(C=0.1, class_weight={0: 0.0}, random_state=0),
            in_batches(X[rows], y[rows], 30),
            [0, 1, 2],
            shuffle_size=0,
        )
        for rows in (order, rest)
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
