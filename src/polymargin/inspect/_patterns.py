"""Support patterns and suspicious labels: what the dual variables say of single rows."""

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from polymargin.errors import require
from polymargin.inspect._examined import Examined
from polymargin.inspect._subject import Scored, Subject
from polymargin.inspect._taus import Taus, eta_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ranking = Literal["tau", "margin", "held-out"]

# Norms that differ by less are equal: single precision leaves such differences between examples
# at the same bound.
_TAU_DIGITS = 5


def default_ranking(subject: Subject) -> Ranking:
    """What tells wrong labels better: ‖tau‖, unless it sums over hinges of single classes.

    Such a sum is large for every row whose scores are small, whatever its label.
    """
    if not subject.has_duals:
        return "margin"
    machine = subject.machine
    only_own_hinge = not machine.relative and not np.any(subject.svm.duals_.data < 0)
    return "tau" if machine.relative or machine.simplex or only_own_hinge else "margin"


def rank(norm: "NDArray[np.float64] | None", scored: Scored) -> "NDArray[np.int64]":
    """Rows by falling ‖tau‖, equal ones and all without tau by rising margin."""
    margin = np.where(np.isnan(scored.margin), np.inf, scored.margin)
    keys = (margin,) if norm is None else (margin, -np.round(norm, _TAU_DIGITS))
    order: NDArray[np.int64] = np.lexsort(keys)
    return order


def support_patterns(
    model: Any, X: Any, y: Any, *, sample_weight: Any = None, max_rows: int | None = None
) -> Any:
    """The rows that the model rests on, those with the largest ‖tau‖ first.

    tau_i is the dual vector of row i in units of its bound C_i, less its mean over the classes
    where the machine is zero-sum: the share of the row in the weights. Rows with tau = 0 are no
    support patterns and left out. Rows of equal ‖tau‖ are ordered by their margin.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.
    X, y : the training data
        All rows, in the order of `fit`; X is what the model or the pipeline takes.
    sample_weight : array-like of shape (n,), default=None
        The weights given to `fit`.
    max_rows : int, default=None
        How many rows to return; None is all.

    Returns
    -------
    patterns : pandas.DataFrame
        ``row`` (from 0), ``label``, ``predicted``, ``tau_norm``, ``eta``, ``rival``, ``margin``,
        ``error`` and ``bounded``. ``eta`` lists the confusable labels with their weights, which
        sum to 1. Where hinges are joined by their maximum (CS, ADM, ATM) it is e_y - tau and may
        hold the own label; elsewhere it is the share of each other label. It is empty where the
        machine has no dual variable for other labels (MMR). ``rival`` is the other label of the
        largest score, ``margin`` the score of the label less that of the rival, ``error`` a
        training error, ``bounded`` a dual variable (or, for a maximum, their sum) at its bound.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import support_patterns
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVM("cs", random_state=0).fit(X, y)
    >>> patterns = support_patterns(model, X, y)
    >>> int(patterns["row"][0]), patterns["eta"][0]
    (83, '2: 1.00')
    """
    pandas = require("pandas", extra="inspect", purpose="tables")
    examined = Examined(model, X, y, sample_weight)
    scored, taus = examined.scored, examined.taus
    order = rank(taus.norm, scored)
    order = order[taus.is_support[order]][:max_rows]
    return pandas.DataFrame(pattern_columns(examined.subject, scored, taus, order))


def pattern_columns(
    subject: Subject, scored: Scored, taus: Taus, order: "NDArray[np.int64]"
) -> dict[str, Any]:
    classes = subject.classes
    return {
        "row": order,
        "label": classes[scored.own[order]],
        "predicted": classes[scored.predicted[order]],
        "tau_norm": taus.norm[order],
        "eta": eta_texts(taus, classes, order),
        "rival": classes[scored.rival[order]],
        "margin": scored.margin[order],
        "error": scored.error[order],
        "bounded": taus.bounded[order],
    }


def suspicious_labels(
    model: Any,
    X: Any,
    y: Any,
    *,
    by: Ranking | None = None,
    sample_weight: Any = None,
    max_rows: int | None = 100,
) -> Any:
    """The rows whose label is most likely wrong, the most suspicious first.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted.
    X, y : the training data
        All rows, in the order of `fit`; X is what the model or the pipeline takes.
    by : {"tau", "margin", "held-out"}, default=None
        ``"tau"``: by falling ‖tau‖, of equals the smallest margin first. ``"margin"``: by the
        margin alone, which needs no dual variables. ``"held-out"``: by the margin that a model
        gives the row without having seen it, which takes five fits and finds most, with kernels
        above all. None is ``"margin"`` where ‖tau‖ says little (LLW, ATS, RM, OVR) or is not
        there, else ``"tau"``.
    sample_weight : array-like of shape (n,), default=None
        The weights given to `fit`.
    max_rows : int, default=100
        How many rows to return; None is all.

    Returns
    -------
    suspects : pandas.DataFrame
        ``row`` (from 0), ``label``, ``suggested`` (the other label of the largest score),
        ``tau_norm`` (with ``"tau"``), ``margin`` and ``error``, the last three by held-out models
        with ``"held-out"``. With ``"tau"`` the list ends with the last support pattern.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import suspicious_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2
    >>> model = LinearSVM("cs", C=0.1, random_state=0).fit(X, y)
    >>> suspect = suspicious_labels(model, X, y).iloc[0]
    >>> int(suspect["row"]), int(suspect["suggested"])
    (7, 0)
    """
    return suspect_table(Examined(model, X, y, sample_weight), by, max_rows)


def suspect_table(examined: Examined, by: str | None, max_rows: int | None) -> Any:
    pandas = require("pandas", extra="inspect", purpose="tables")
    by = check_ranking(by, examined.subject)
    scored = judge(examined, by)
    taus = examined.taus if by == "tau" else None
    order = suspects(scored, taus)[:max_rows]
    return pandas.DataFrame(suspect_columns(examined.subject, scored, taus, order))


def judge(examined: Examined, by: Ranking) -> Scored:
    """The scores that suspicious labels are told by."""
    return examined.held_out if by == "held-out" else examined.scored


def check_ranking(by: str | None, subject: Subject) -> Ranking:
    if by is None:
        return default_ranking(subject)
    if by not in get_args(Ranking):
        raise ValueError(f"by has to be 'tau', 'margin', 'held-out' or None, not {by!r}")
    return by  # type: ignore[return-value]


def suspects(scored: Scored, taus: Taus | None) -> "NDArray[np.int64]":
    """Rows, the most suspicious first."""
    if taus is None:
        order = rank(None, scored)
        return order[scored.own[order] >= 0]
    order = rank(taus.norm, scored)
    return order[taus.is_support[order]]


def suspect_columns(
    subject: Subject, scored: Scored, taus: Taus | None, order: "NDArray[np.int64]"
) -> dict[str, Any]:
    classes = subject.classes
    columns = {
        "row": order,
        "label": classes[scored.own[order]],
        "suggested": classes[scored.rival[order]],
    }
    if taus is not None:
        columns["tau_norm"] = taus.norm[order]
    return columns | {"margin": scored.margin[order], "error": scored.error[order]}
