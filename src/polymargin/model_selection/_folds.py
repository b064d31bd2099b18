"""The folds of a search: whatever scikit-learn splits by, groups and classes that are rare."""

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

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
    if groups is not None:
        return StratifiedGroupKFold(int(cv), shuffle=True, random_state=random_state)
    _check_counts(y, int(cv))
    return StratifiedKFold(int(cv), shuffle=True, random_state=random_state)


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


def _check_counts(y: "NDArray[Any]", n_folds: int) -> None:
    """A class with fewer rows than folds is searched with all the same, and told of."""
    classes, counts = np.unique(y, return_counts=True)
    rarest = int(counts.argmin())
    if counts[rarest] >= n_folds or counts.max() < n_folds:
        return  # where all classes are that rare, scikit-learn refuses
    n_rare, n_rows = int(np.sum(counts < n_folds)), int(counts[rarest])
    others = "" if n_rare == 1 else f" ({n_rare} classes are that rare)"
    rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
    warnings.warn(
        f"Class {classes.tolist()[rarest]!r} has {rows}, fewer than the {n_folds} folds of "
        f"cv{others}: it is missing from some of them, in training or validation, and its rows "
        "count as errors where it is not trained on. Lower cv or leave it out.",
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
