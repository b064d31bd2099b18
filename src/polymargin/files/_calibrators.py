"""What makes probabilities of scores, in a file."""

from collections.abc import Callable
from typing import Any

import numpy as np

from polymargin.calibration import Calibrator, Isotonic, Sigmoid, Temperature
from polymargin.errors import ModelFileError
from polymargin.storage import Arrays, Fields, Tensors

_FLOATS = (np.dtype(np.float64),)


def put_calibrator(model: Any) -> tuple[dict[str, Any], Arrays]:
    """The calibrator of an estimator; nothing where it has none, or one of other parameters."""
    calibrator: Calibrator | None = vars(model).get("calibrator_")
    if calibrator is None or calibrator.name != model.calibration:
        return {}, {}
    put, _ = _CODECS[calibrator.name]
    fields, arrays = put(calibrator)
    return {"calibrator": {"name": calibrator.name} | fields}, {
        f"calibrator.{name}": array for name, array in arrays.items()
    }


def take_calibrator(model: Any, fields: Fields, tensors: Tensors) -> None:
    """Set what `put_calibrator` has stored."""
    name = fields.text("name")
    if name != model.calibration:
        raise ModelFileError(
            f"the calibrator is {name!r:.40} and the parameter {model.calibration!r:.40}"
        )
    _, take = _CODECS[name]
    model.calibrator_ = take(fields, tensors.under("calibrator."), len(model.classes_))


def _put_temperature(calibrator: Any) -> tuple[dict[str, Any], Arrays]:
    return {"T": float(calibrator.T)}, {}


def _take_temperature(fields: Fields, tensors: Tensors, k: int) -> Calibrator:
    T = fields.finite("T")
    if not T > 0:
        raise ModelFileError(f"{fields.place}: T={T} is not positive")
    return Temperature(T)


def _put_sigmoid(calibrator: Any) -> tuple[dict[str, Any], Arrays]:
    return {}, {"slope": calibrator.slope, "offset": calibrator.offset}


def _take_sigmoid(fields: Fields, tensors: Tensors, k: int) -> Calibrator:
    slope, offset = (_finite(tensors, name, (k,)) for name in ("slope", "offset"))
    return Sigmoid(slope, offset)


def _put_isotonic(calibrator: Any) -> tuple[dict[str, Any], Arrays]:
    ends = np.cumsum([0, *(len(scores) for scores, _ in calibrator.curves)])
    return {}, {
        "offsets": ends.astype(np.int64),
        "scores": np.concatenate([scores for scores, _ in calibrator.curves]),
        "values": np.concatenate([values for _, values in calibrator.curves]),
    }


def _take_isotonic(fields: Fields, tensors: Tensors, k: int) -> Calibrator:
    offsets = tensors.integers("offsets", (k + 1,))
    scores = _finite(tensors, "scores", (None,))
    values = _finite(tensors, "values", (len(scores),))
    if offsets[0] != 0 or offsets[-1] != len(scores) or np.any(offsets[1:] <= offsets[:-1]):
        raise ModelFileError(
            f"tensor '{tensors.prefix}offsets' does not ascend from 0 to the last score"
        )
    curves = [
        (scores[first:last], values[first:last])
        for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    for s, p in curves:
        rises = np.all(s[1:] > s[:-1]) and np.all(p[1:] >= p[:-1])
        if not (rises and p[0] >= 0 and p[-1] <= 1):
            raise ModelFileError("a curve of the calibrator does not rise from 0 to 1")
    return Isotonic(tuple(curves))


def _finite(tensors: Tensors, name: str, shape: tuple[int | None, ...]) -> Any:
    tensors.take(name, _FLOATS, shape)
    return tensors.floats(name, shape)


_Put = Callable[[Any], tuple[dict[str, Any], Arrays]]
_Take = Callable[[Fields, Tensors, int], Calibrator]
_CODECS: dict[str, tuple[_Put, _Take]] = {
    "temperature": (_put_temperature, _take_temperature),
    "sigmoid": (_put_sigmoid, _take_sigmoid),
    "isotonic": (_put_isotonic, _take_isotonic),
}
