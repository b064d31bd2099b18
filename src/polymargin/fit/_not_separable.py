"""Why classes cannot be separated, in words."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin._wording import counted
from polymargin.errors import NotSeparableError
from polymargin.fit._remedy import has_uneven_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.fit._problem import Problem

_NAMED = 5  # rows in a message
_FINITE = "set a finite C, which lets rows violate their margins at a price"


def refuse_at_sight(problem: "Problem", diagonal: "NDArray[Any]") -> None:
    """NotSeparableError where a row is zero, or the same as one with another label."""
    zero = np.flatnonzero(diagonal == 0)
    if len(zero):
        rows = _as_given(problem, zero[:1])
        what = "the scores of {}, which is zero, are 0 whatever the weights"
        raise _error(what, [], rows, 0.0)
    conflict = _find_conflict(problem)
    if conflict is not None:
        rows = _as_given(problem, np.array(conflict))
        one, other = problem.classes[problem.labels[list(conflict)]].tolist()
        labels = _literally(f"{one!r}, {other!r}")
        what = f"{{}} and {{}} are the same and have the labels {labels}"
        raise _error(what, [], rows, 0.0)


def not_separable(
    problem: "Problem",
    margins: "NDArray[np.float64]",
    bound: float,
    is_proved: bool,
    C: float,
    passes: int | None,
) -> NotSeparableError:
    """The error after a fit at C whose weights give the rows these margins.

    No weights of norm 1 have a smallest margin above the bound, which is 0 as far as rounding lets
    tell where that `is_proved`. The fit took all its `passes`, or ended by itself.
    """
    worst = np.argsort(margins, kind="stable")
    rows = _as_given(problem, worst[margins[worst] <= 0])
    precision = problem.rows.dtype.name
    if is_proved:
        found = f"the classes cannot be separated in {precision}"
        limit = f"no margin is above {bound:.2g}, where rounding takes over"
    else:
        spent = "" if passes is None else f"{counted(passes, 'pass', 'passes')} at "
        found = f"nothing that separates the classes was found up to {spent}C = {C:.2g}"
        limit = f"no margin is above {bound:.2g}"
    named = ", ".join(["{}"] * min(len(rows), _NAMED)) + (", ..." if len(rows) > _NAMED else "")
    wrong = f"on the wrong side: {counted(len(rows), 'row')} of {len(problem):,} ({named})"
    remedies = {
        "pass float64": precision == "float32",
        "raise max_iter": passes is not None and not is_proved,
        "scale the features": has_uneven_columns(problem.X),
    }
    helping = [name for name, helps in remedies.items() if helps]
    return _error(f"{found}: {limit}; {wrong}", helping, rows, bound)


def _error(
    what: str, remedies: list[str], rows: "NDArray[np.int64]", bound: float
) -> NotSeparableError:
    advice = " or ".join(filter(None, [", ".join(remedies), _FINITE]))
    template = f"C=inf: {what}. {advice[0].upper()}{advice[1:]}."
    message = template.format(*(f"row {row}" for row in rows.tolist()))
    return NotSeparableError(message, rows=rows, margin=bound, template=template)


def _literally(text: str) -> str:
    """For a template, in which braces stand for a row."""
    return text.replace("{", "{{").replace("}", "}}")


def _as_given(problem: "Problem", rows: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Numbers of rows as the user counts them."""
    return rows if problem.kept is None else problem.kept[rows]


def _find_conflict(problem: "Problem") -> tuple[int, int] | None:
    """Two rows that are the same, as they are stored, with different labels."""
    norms = problem.rows.squared_norms()
    _, groups, counts = np.unique(norms, return_inverse=True, return_counts=True)
    first: dict[bytes, int] = {}
    for i in np.flatnonzero(counts[groups] > 1).tolist():  # no others have an equal
        other = first.setdefault(_content(problem.X, i), i)
        if problem.labels[other] != problem.labels[i]:
            return other, i
    return None


def _content(X: Any, i: int) -> bytes:
    if not sparse.issparse(X):
        return bytes(X[i].tobytes())
    part = slice(X.indptr[i], X.indptr[i + 1])
    return bytes(X.indices[part].tobytes() + X.data[part].tobytes())
