"""What `partial_fit` and `fit_stream` do with a batch: check it, visit its rows, set attributes.

A model has the core's stream in `_stream` for as long as its weights can be gone on from. Nothing
here copies them: `coef_` and `intercept_` are read off the stream when somebody asks for them.
"""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.utils.multiclass import unique_labels

from polymargin import core
from polymargin._machines import find_machine
from polymargin.fit._linear import make_options
from polymargin.fit._problem import Problem, make_problem
from polymargin.fit._validation import check_X
from polymargin.fit._weights import choose_stream_weights
from polymargin.solvers import Chooser, LinearLoop, choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Duals, LinearStream, StreamCertificate


class StreamModel(Chooser[LinearLoop], Protocol):
    """A linear machine whose weights a stream changes."""

    class_weight: Any
    checkpoint: Any
    calibration: str | None
    classes_: "NDArray[Any]"
    n_samples_seen_: int
    fit_intercept: bool
    _stream: "LinearStream | None"
    _stream_of: "tuple[str, bool]"

    def _upper(
        self, X: Any, y: "NDArray[Any]", sample_weight: Any, known: "NDArray[Any] | None"
    ) -> "NDArray[np.float64]":
        """C_i of each row."""

    def _forget(self, *names: str) -> None:
        """Remove these attributes, by default all that was learnt."""

    def _end_stream(self) -> None:
        """Keep the weights, but not what the next batch would go on from."""


def check_stream(model: StreamModel) -> None:
    """Refuse parameters other than those that the stream of a model was begun with."""
    begun, now = model._stream_of, stream_parameters(model)
    for name, before, after in zip(("machine", "fit_intercept"), begun, now, strict=True):
        if before != after:
            raise ValueError(
                f"the stream was begun with {name}={before!r} and cannot go on with {after!r}: set "
                "it back, or begin anew with a clone, fit or fit_stream"
            )


def stream_parameters(model: StreamModel) -> tuple[str, bool]:
    """Those that decide on the problem, and are fixed when a stream begins."""
    return find_machine(model.machine).name, bool(model.fit_intercept)


def check_no_calibration(model: Any) -> None:
    """Refuse what a stream cannot have."""
    if model.calibration is not None:
        raise ValueError(
            f"calibration={model.calibration!r} holds rows out, and a stream forgets its rows: set "
            "it to None, and calibrate the finished model on other rows with scikit-learn's "
            "CalibratedClassifierCV(FrozenEstimator(model))"
        )


class StreamEngine:
    """Takes batches into a model: into its stream or, where `anew` or it has none, a new one.

    A new stream is opened, and what the model had learnt before is forgotten, by `begin`, when the
    first batch has been found to be in order.
    """

    def __init__(
        self,
        model: StreamModel,
        classes: Any,
        *,
        anew: bool,
        dtypes: tuple[type[np.floating[Any]], ...] = (np.float64, np.float32),
    ) -> None:
        if model.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once; for a stream pass the weights '
                "as a dict"
            )
        if model.checkpoint is not None:
            raise ValueError("a stream has no checkpoints, for it forgets its rows: set it to None")
        check_no_calibration(model)
        self._model = model
        self._stream = None if anew else model._stream
        if self._stream is not None:
            check_stream(model)
        self._dtypes = list(dtypes) if self._stream is None else self._stream.dtype
        self.classes = self._find_classes(classes)

    def prepare(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Check a batch; rows of weight zero are left out."""
        X, y = check_X(self._model, X, y, reset=self._stream is None, dtype=self._dtypes)
        upper = self._model._upper(X, y, sample_weight, self.classes)
        batch = make_problem(X, y, upper, classes=self.classes)
        if batch.is_hard_margin:
            raise ValueError(
                "C=inf needs all rows at once, to see that no margin is violated in the end; a "
                "stream forgets its rows: set a finite C"
            )
        return batch

    def begin(self, batch: Problem) -> None:
        """Open a stream for batches like this one, unless there is one."""
        if self._stream is None:
            self._open(batch)

    def visit(self, batch: Problem, duals: "Duals | None" = None) -> None:
        """Visit each row once; `duals` are those of the rows, where they are kept.

        An interrupt leaves what the rows visited so far have made.
        """
        stream = self._stream
        assert stream is not None
        self._model._forget("coef_", "intercept_")
        try:
            stream.visit(batch.rows, batch.labels, batch.upper, duals)
        finally:
            self._model.n_samples_seen_ = stream.n_seen

    def begin_certificate(self) -> "StreamCertificate":
        """What one pass over all rows makes a certificate of the weights as they are now."""
        assert self._stream is not None
        return core.StreamCertificate(self._stream)

    def close(self) -> None:
        """Leave weights that nothing goes on from."""
        if self._stream is not None:
            self._model._end_stream()

    def _open(self, batch: Problem) -> None:
        model, rows = self._model, batch.rows
        choice = choose(model)
        options = make_options(model, choice)
        options.weights = choose_stream_weights(
            options.weights, batch, choice.machine, options.fit_intercept
        )
        self._stream = core.LinearStream(
            rows.n_features, len(self.classes), choice.machine.name, options, rows.dtype
        )
        model._forget()
        model.classes_, model._stream = self.classes, self._stream
        model._stream_of = stream_parameters(model)
        model.n_samples_seen_ = 0

    def _find_classes(self, classes: Any) -> "NDArray[Any]":
        if classes is None:
            if not hasattr(self._model, "classes_"):
                raise ValueError("classes must be passed on the first call to partial_fit.")
            return self._model.classes_
        given: NDArray[Any] = unique_labels(classes)
        if self._stream is not None and not np.array_equal(given, self._model.classes_):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on the first call to partial_fit, "
                f"which was {self._model.classes_!r}"
            )
        if len(given) < 2:
            raise ValueError(f"The number of classes has to be at least two; got {len(given)}.")
        return given
