"""``polymargin train``: rows of which every process reads its own."""

import time
from pathlib import Path

import numpy as np

from polymargin.cli._data import check_width, concerning, opening
from polymargin.cli._option_sets import Features, Reading
from polymargin.cli._output.terminal import shown_warnings
from polymargin.cli._trained import Trained, is_interrupted
from polymargin.distributed import LinearSVM, read_share

_OPTIONS = ("format", "n_features", "zero_based", "label_kind", "n_jobs")


def train_on_shares(
    path: Path, svm: LinearSVM, reading: Reading, features: Features, *, quiet: bool
) -> Trained:
    """Read a part of a file and fit a machine to those of all processes."""
    with opening(path), shown_warnings():
        share = read_share(path, **{name: reading.options[name] for name in _OPTIONS})
    check_width(share.X.shape[1], path)
    X = share.X.astype(np.dtype(features.precision), copy=False)
    start = time.perf_counter()
    svm.set_params(verbose=0 if quiet else 1)
    with shown_warnings(), concerning(path):
        was_interrupted = is_interrupted(svm, lambda: svm.fit_share(X, share.y))
    seconds = time.perf_counter() - start
    n_rows = getattr(svm, "_n_examples", X.shape[0])  # of all processes, where there are several
    svm.set_params(verbose=0)
    return Trained(svm, [], n_rows, seconds, was_interrupted, share.reading)
