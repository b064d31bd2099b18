"""Linear models in the text format of LIBLINEAR.

A header of names and values ends in a line ``w``; one line for each feature follows, and one for
the constant feature where ``bias`` is not negative, with one weight for each class. Models of two
classes have one column, the weights of the first label, unless they are MCSVM_CS.
"""

import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from polymargin._atomic import replacing
from polymargin._machines import find_machine
from polymargin.errors import ModelFileError
from polymargin.estimators import LinearSVM
from polymargin.files._affine import folded
from polymargin.storage import naming

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OURS = {"cs": "MCSVM_CS", "ovr": "L2R_L1LOSS_SVC_DUAL"}
_MACHINES = {
    "MCSVM_CS": "cs",
    "L2R_L1LOSS_SVC_DUAL": "ovr",
    "L2R_L2LOSS_SVC_DUAL": "ovr",
    "L2R_L2LOSS_SVC": "ovr",
    "L1R_L2LOSS_SVC": "ovr",
    "L2R_LR": "ovr",
    "L1R_LR": "ovr",
    "L2R_LR_DUAL": "ovr",
}
_HEADER = ("solver_type", "nr_class", "label", "nr_feature", "bias")
_MOST_LINE = 1 << 26  # characters


def save_liblinear(model: LinearSVM | Pipeline, path: str | os.PathLike[str]) -> None:
    """Write a linear model as LIBLINEAR does, for its `predict` and its interfaces.

    Scaling steps of a pipeline are taken into the weights. Crammer-Singer machines become
    MCSVM_CS and one-versus-rest machines L2R_L1LOSS_SVC_DUAL. All others are written as MCSVM_CS
    too, which decides by the largest score like they do. Of a one-versus-rest model of two classes
    only the difference of the scores is kept. Parameters, certificate, dual variables and what
    makes probabilities of scores have no place in the format; of the last a warning is given.

    Parameters
    ----------
    model : LinearSVM or Pipeline
        With integer labels.
    path : path-like
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import LinearSVM
    >>> from polymargin.files import load_liblinear, save_liblinear
    >>> model = LinearSVM("cs", random_state=0).fit([[0.0], [1.0]], [3, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.txt")
    ...     save_liblinear(model, path)
    ...     load_liblinear(path).predict([[0.0], [1.0]]).tolist()
    [3, 5]
    """
    estimator, weights, constants = folded(model)
    if estimator.calibration is not None:
        warnings.warn(
            f"a LIBLINEAR file has no place for calibration={estimator.calibration!r}: the model "
            f"in {os.fspath(path)} gives labels and scores, no probabilities",
            UserWarning,
            stacklevel=2,
        )
    labels = _integer_labels(estimator.classes_)
    solver = _OURS.get(find_machine(estimator.machine).name, "MCSVM_CS")
    columns = np.vstack([weights.T, constants])
    if len(labels) == 2 and solver != "MCSVM_CS":
        columns = columns[:, :1] - columns[:, 1:]
    if not np.all(np.isfinite(columns)):
        raise ValueError("the weights are beyond the range of float64 once scaling is taken in")
    has_bias = bool(np.any(constants != 0))
    with replacing(path, "w", encoding="ascii", newline="\n") as file:
        file.write(
            f"solver_type {solver}\nnr_class {len(labels)}\nlabel {' '.join(map(str, labels))}\n"
            f"nr_feature {weights.shape[1]}\nbias {1 if has_bias else -1}\nw\n"
        )
        line = "%.17g " * columns.shape[1] + "\n"
        for row in columns if has_bias else columns[:-1]:
            file.write(line % tuple(row.tolist()))


def load_liblinear(path: str | os.PathLike[str]) -> LinearSVM:
    """Read a model of two or more classes that LIBLINEAR or `save_liblinear` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : LinearSVM
        Without a certificate or dual variables. MCSVM_CS becomes machine ``"cs"``, all other
        solvers ``"ovr"``; the parameters that the format does not hold, such as `C`, are the
        defaults. A model of one column gives its classes half of the decision value each.

    Raises
    ------
    ModelFileError
        The file is damaged, or a model of regression or of one class.

    Examples
    --------
    See `save_liblinear`.
    """
    with naming(path), Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        lines = _Lines(file)
        header = lines.header()
        solver, labels, d, bias = _checked_header(header)
        k = len(labels)
        n_columns = 1 if k == 2 and solver != "MCSVM_CS" else k
        n_rows = d + (bias >= 0)
        if 2 * n_rows * n_columns > size:  # a number and a space each
            raise ModelFileError(
                f"the file is cut off: it has {size} bytes, too few for {n_rows} x {n_columns} "
                "weights"
            )
        columns = np.empty((n_rows, n_columns))
        for j in range(n_rows):
            columns[j] = lines.numbers(n_columns)
        lines.end()
    if n_columns == 1:
        columns = np.hstack([columns / 2, -columns / 2])
    model = LinearSVM(_MACHINES[solver], fit_intercept=bias >= 0)
    order = np.argsort(labels)
    model.classes_ = np.array(labels, np.int64)[order]
    model.n_features_in_ = d
    model.coef_ = columns[:d, order].T
    with np.errstate(over="ignore"):
        model.intercept_ = columns[d, order] * bias if bias >= 0 else np.zeros(k)
    if not np.all(np.isfinite(model.intercept_)):
        raise ModelFileError(f"{os.fspath(path)}: bias times its weights is infinite")
    return model


def _integer_labels(classes: "NDArray[Any]") -> list[int]:
    if classes.dtype.kind in "iuf" and np.all(np.mod(classes, 1) == 0):
        labels = [int(label) for label in classes]
        if labels[0] >= -(2**31) and labels[-1] < 2**31:
            return labels
    raise ValueError(
        f"LIBLINEAR knows 32-bit integer labels only, not {classes[:3].tolist()!r:.80}; number the "
        "classes before fit (sklearn.preprocessing.LabelEncoder does), or use save"
    )


class _Lines:
    """Lines of a file with their numbers, for messages."""

    def __init__(self, file: Any) -> None:
        self._lines: Iterator[bytes] = iter(lambda: file.readline(_MOST_LINE), b"")
        self._number = 0

    def fail(self, message: str) -> ModelFileError:
        return ModelFileError(f"line {self._number}: {message}")

    def next(self) -> str:
        self._number += 1
        line = next(self._lines, None)
        if line is None:
            raise self.fail("the file ends too early")
        if len(line) == _MOST_LINE:
            raise self.fail("the line is too long")
        try:
            return line.decode("ascii").strip()
        except UnicodeDecodeError:
            raise self.fail("this is not text of a LIBLINEAR model") from None

    def header(self) -> dict[str, tuple[str, int]]:
        """Values by name, with the lines that they are in."""
        found: dict[str, tuple[str, int]] = {}
        while (line := self.next()) != "w":
            name, _, value = line.partition(" ")
            if name == "rho":
                raise self.fail("a model of one class cannot be read: classifiers have two or more")
            if name not in _HEADER:
                raise self.fail(f"{name!r:.40} is not part of a LIBLINEAR model")
            if name in found:
                raise self.fail(f"{name} comes twice")
            found[name] = (value.strip(), self._number)
        for name in _HEADER:
            if name not in found:
                raise self.fail(f"the header has no {name}")
        return found

    def numbers(self, count: int) -> list[float]:
        line = self.next()
        parts = line.split()
        if len(parts) != count:
            raise self.fail(f"{len(parts)} weights where {count} should be")
        try:
            values = list(map(float, parts)) if "_" not in line else [math.nan]
        except ValueError:
            values = [math.nan]
        if not all(map(math.isfinite, values)):
            values = [_number(part, self._number) for part in parts]  # names the wrong one
        return values

    def end(self) -> None:
        for line in self._lines:
            self._number += 1
            if line.strip():
                raise self.fail("there is more than the header has announced")


def _number(text: str, line: int) -> float:
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelFileError(f"line {line}: {text!r:.40} is not a finite number")
    return value


def _integer(text: str, line: int, least: int, most: int) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise ModelFileError(f"line {line}: {text!r:.40} is not an integer")
    if not least <= int(text) <= most:
        raise ModelFileError(f"line {line}: {text} is outside [{least}, {most}]")
    return int(text)


def _checked_header(
    header: dict[str, tuple[str, int]],
) -> tuple[str, list[int], int, float]:
    """Solver, labels, number of features and bias."""
    solver, line = header["solver_type"]
    if solver not in _MACHINES:
        raise ModelFileError(
            f"line {line}: {solver!r:.40} is no solver of classifiers; known are "
            f"{', '.join(_MACHINES)}"
        )
    k = _integer(*header["nr_class"], least=2, most=2**31 - 1)
    text, line = header["label"]
    labels = [_integer(part, line, -(2**31), 2**31 - 1) for part in text.split()]
    if len(labels) != k or len(set(labels)) != k:
        raise ModelFileError(f"line {line}: there should be {k} different labels")
    d = _integer(*header["nr_feature"], least=1, most=2**31 - 1)
    return solver, labels, d, _number(*header["bias"])
