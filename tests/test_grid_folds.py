"""Folds of a grid search: splitters by groups and by time, metadata routing, rare classes."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)
from test_model_selection import EXACT, small_set

from polymargin import LinearSVM
from polymargin.model_selection import GridSearch, nested_grid_search
from polymargin.model_selection._folds import make_folds

ONE: dict[str, Any] = {"log2_C": (-4, -4, 1), "refinements": 0, "refit": False}


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any, Any]:
    X, y = small_set("wine")
    return X, y, np.random.default_rng(0).integers(12, size=len(y))


def search(data: tuple[Any, Any, Any], **options: Any) -> GridSearch:
    return nested_grid_search(LinearSVM(**EXACT), data[0], data[1], **ONE | options)


@pytest.mark.parametrize(
    "cv", [GroupKFold(3), LeaveOneGroupOut(), StratifiedGroupKFold(3), TimeSeriesSplit(3)]
)
def test_splitters_score_as_in_grid_search_cv(cv: Any, data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    theirs = GridSearchCV(LinearSVM(**EXACT), {"C": [2.0**-4]}, cv=cv, refit=False)
    theirs.fit(X, y, groups=groups)
    ours = search(data, cv=cv, groups=groups)
    expected = [theirs.cv_results_[f"split{i}_test_score"][0] for i in range(theirs.n_splits_)]
    np.testing.assert_allclose(ours.points[0].scores, expected, atol=1e-12)


def test_a_number_of_folds_with_groups_keeps_groups_together(data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    folds = make_folds(X, y, 3, groups, None, 0)
    assert len(folds) == 3
    for train, validation in folds:
        assert not set(groups[train]) & set(groups[validation])
    given = list(StratifiedGroupKFold(3, shuffle=True, random_state=0).split(X, y, groups))
    assert search(data, cv=3, groups=groups).points == search(data, cv=given).points


def test_a_splitter_by_groups_needs_them(data: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        search(data, cv=GroupKFold(3))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search(data, cv=GroupKFold(3), groups=[1, 2, 3])


class Halves:
    """A splitter that looks at the rows."""

    def get_n_splits(self, *args: Any, **kwargs: Any) -> int:
        return 1

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        is_left = X[:, 0] < np.median(X[:, 0])
        yield np.flatnonzero(is_left), np.flatnonzero(~is_left)


def test_splitters_see_the_rows(data: tuple[Any, Any, Any]) -> None:
    X, y, _ = data
    ((train, validation),) = make_folds(X, y, Halves(), None, None, 0)
    assert X[train, 0].max() < X[validation, 0].min()


# Metadata routing


@pytest.mark.usefixtures("routing")
def test_groups_are_routed_to_those_who_ask_for_them(data: tuple[Any, Any, Any]) -> None:
    groups = data[2]
    direct = list(GroupKFold(3).split(data[0], data[1], groups))
    expected = search(data, cv=direct).points
    assert search(data, cv=GroupKFold(3), groups=groups).points == expected
    renamed = GroupKFold(3).set_split_request(groups="patient")
    assert search(data, cv=renamed, split_params={"patient": groups}).points == expected
    assert search(data, cv=3, groups=groups).best_score > 0.8
    with pytest.raises(TypeError, match="unexpected argument"):
        search(data, cv=TimeSeriesSplit(3), groups=groups)


@pytest.mark.usefixtures("routing")
def test_metadata_that_nobody_asked_for_are_refused(data: tuple[Any, Any, Any]) -> None:
    unset = GroupKFold(3).set_split_request(groups=None)
    with pytest.raises(UnsetMetadataPassedError, match="groups"):
        search(data, cv=unset, groups=data[2])


def test_other_metadata_need_routing(data: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        search(data, cv=GroupKFold(3), split_params={"patient": data[2]})
    with pytest.raises(ValueError, match="split_params has to be a dict"):
        search(data, cv=GroupKFold(3), split_params=[1])


# Rare classes


def with_rare(y: Any, *counts: int) -> Any:
    """Labels with further classes "a", "b", ... of so many rows."""
    labels, at = np.array([f"c{label}" for label in y], dtype=object), 0
    for name, count in zip("ab", counts, strict=False):
        labels[at : at + count] = name
        at += count
    return labels


def test_a_class_of_one_row_is_searched_with_and_told_of(data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    rare = with_rare(y, 1)
    with pytest.warns(UserWarning, match="Class 'a' has 1 row, fewer than cv=5") as caught:
        found = search((X, rare, groups), cv=5)
    assert len(caught) == 1
    assert caught[0].filename.endswith("test_grid_folds.py")
    theirs = GridSearchCV(
        LinearSVM(**EXACT), {"C": [2.0**-4]}, cv=[*make_folds(X, rare, 5, None, None, 0)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs.fit(X, rare).best_score_
    assert found.best_score == pytest.approx(expected, abs=1e-12)


def test_several_rare_classes_are_counted(data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    with pytest.warns(UserWarning, match=r"Class 'b' has 2 rows, .* \(2 classes are that rare\)"):
        search((X, with_rare(y, 3, 2), groups), cv=5)


def test_a_fold_that_trains_on_one_class_is_refused(data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    two = np.where(np.arange(len(y)) == 0, "rare", "common")
    with (
        pytest.warns(UserWarning, match="has 1 row"),
        pytest.raises(ValueError, match="of 3 has rows of class 'common' alone to train on"),
    ):
        search((X, two, groups), cv=3)
    with pytest.raises(ValueError, match="Fold 1 of 3 has rows of class 0 alone"):
        search((X, np.sort(y), groups), cv=TimeSeriesSplit(3))


def test_a_class_of_few_groups_is_told_of(data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    rare = with_rare(y, 4)
    alone = np.where(rare == "a", 100, groups)
    with pytest.warns(UserWarning, match="Class 'a' has 1 group, fewer than cv=3"):
        search((X, rare, alone), cv=3, groups=alone)
    with pytest.raises(ValueError, match=r"cv=3: there are 2 groups\. Lower cv"):
        search(data, cv=3, groups=groups % 2)
    with pytest.raises(ValueError, match="no class has the 3 groups that cv=3 folds need"):
        search((X, y, groups), cv=3, groups=y)


def test_classes_that_are_all_rare_are_refused(data: tuple[Any, Any, Any]) -> None:
    X, y, groups = data
    with pytest.raises(ValueError, match="no class has the 150 rows that cv=150 folds need"):
        search((X, y, groups), cv=150)
