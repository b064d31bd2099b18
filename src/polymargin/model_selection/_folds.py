"""The folds of a search: whatever scikit-learn splits by, groups and classes that are rare."""

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from polymargin._wording import counted
from polymargin.fit import draw_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def make_folds(
    X: Any, y: "NDArray[Any]", cv: Any, groups: Any, split_params: Any, random_state: Any
) -> "tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]":
    """Numbers of the training and of the validation rows of each fold."""
    splitter = _make_splitter(y, cv, groups, random_state)
    metadata = _metadata(splitter, groups, split_params)
    numbers = np.arange(len(y))
    with warnings.catch_warnings():
        # In our words, with the name of the class.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = tuple(
            (numbers[np.asarray(train)], numbers[np.asarray(validation)])  # masks as well
            for train, validation in splitter.split(X, y, **metadata)
        )
    if not folds or any(len(rows) == 0 for fold in folds for rows in fold):
        raise ValueError("cv has to give at least one fold, with training and validation rows")
    _check_classes(y, folds)
    return folds


def _make_splitter(y: "NDArray[Any]", cv: Any, groups: Any, random_state: Any) -> Any:
    """A number stands for that many folds, stratified, shuffled, and along groups if any."""
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        return check_cv(cv, y, classifier=True)
    if isinstance(random_state, np.random.Generator):
        random_state = draw_seed(random_state)  # scikit-learn takes no generator of this kind
    if groups is None:
        splitter = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
        _check_counts(y, np.arange(len(y)), int(cv), "row")
        return splitter
    splitter = StratifiedGroupKFold(int(cv), shuffle=True, random_state=random_state)
    check_consistent_length(y, groups)
    _check_counts(y, column_or_1d(groups), int(cv), "group")
    return splitter


def _metadata(splitter: Any, groups: Any, split_params: Any) -> dict[str, Any]:
    """What `split` takes besides X and y, routed as scikit-learn is set to."""
    if split_params is not None and not isinstance(split_params, Mapping):
        raise ValueError(f"split_params has to be a dict of metadata by name, got {split_params!r}")
    given = dict(split_params or {})
    if groups is not None:
        given["groups"] = groups
    if not get_config()["enable_metadata_routing"]:
        if split_params:
            raise ValueError(
                "split_params is handed on by scikit-learn's metadata routing; enable it with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        return given
    router = MetadataRouter(owner="nested_grid_search").add(
        splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split")
    )
    routed: dict[str, Any] = process_routing(router, "fit", **given).splitter.split
    return routed


def _check_counts(y: "NDArray[Any]", units: "NDArray[Any]", n_folds: int, noun: str) -> None:
    """A class in fewer rows or groups than folds is searched with all the same, and told of."""
    _, numbers = np.unique(units, return_inverse=True)
    classes, own = np.unique(y, return_inverse=True)
    n_units = int(np.max(numbers)) + 1
    counts = np.bincount(np.unique(own * n_units + numbers) // n_units)
    if n_folds > n_units:
        are = "is" if n_units == 1 else "are"
        raise ValueError(f"cv={n_folds}: there {are} {counted(n_units, noun)}. Lower cv.")
    if n_folds > np.max(counts):
        raise ValueError(
            f"no class has the {n_folds} {noun}s that cv={n_folds} folds need. Lower cv."
        )
    rarest = int(np.argmin(counts))
    if n_folds <= counts[rarest]:
        return
    n_rare = int(np.sum(counts < n_folds))
    others = "" if n_rare == 1 else f" ({n_rare} classes are that rare)"
    warnings.warn(
        f"Class {classes.tolist()[rarest]!r} has {counted(int(counts[rarest]), noun)}, fewer than "
        f"cv={n_folds}{others}: it is missing from some folds, in training or validation, and its "
        "rows count as errors where it is not trained on. Lower cv or leave it out.",
        UserWarning,
        stacklevel=5,
    )


def _check_classes(
    y: "NDArray[Any]", folds: "tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]"
) -> None:
    """There is nothing to learn from one class."""
    for number, (train, _) in enumerate(folds, start=1):
        classes = np.unique(y[train])
        if len(classes) == 1:
            raise ValueError(
                f"Fold {number} of {len(folds)} has rows of class {classes.tolist()[0]!r} alone to "
                "train on; two classes are needed. Take other folds, or leave rare classes out."
            )
