"""``polymargin train``: all rows at once."""

import time
from pathlib import Path

from polymargin.cli._announce import announce
from polymargin.cli._data import concerning, read_to_train, separating
from polymargin.cli._option_sets import Features, Reading
from polymargin.cli._output.terminal import note, shown_warnings
from polymargin.cli._recipe import SVM, fit_features
from polymargin.cli._resumed import Resumed
from polymargin.cli._trained import Trained, is_interrupted
from polymargin.estimators import KernelSVM
from polymargin.files import data_hash
from polymargin.storage import Checkpoint


def train_in_memory(
    path: Path,
    svm: SVM,
    reading: Reading,
    features: Features,
    *,
    checkpoint: Path | None,
    checkpoint_every: float,
    resumed: Resumed | None,
    quiet: bool,
) -> Trained:
    """Read a file and fit a machine to it, from where a checkpoint left off if there is one."""
    table = read_to_train(path, reading)
    digest = data_hash(table.X, table.y)
    steps, X = fit_features(features, table, path, reading.jobs)
    if not quiet:
        announce(table, X, reading.kinds, features, isinstance(svm, KernelSVM))
    spent = 0.0
    if checkpoint is not None:
        svm.set_params(checkpoint=Checkpoint(checkpoint, checkpoint_every))
    if resumed is not None:
        spent = resumed.start(svm, digest if X is table.X else data_hash(X, table.y))
        if not quiet:
            note(f"resumed after {spent:.0f} s of training")
    start = time.perf_counter()
    svm.set_params(verbose=0 if quiet else 1)
    with shown_warnings(), concerning(path), separating(table, path):
        was_interrupted = is_interrupted(svm, lambda: svm.fit(X, table.y))
    seconds = spent + time.perf_counter() - start
    svm.set_params(verbose=0, checkpoint=None)
    return Trained(svm, steps, X.shape[0], seconds, was_interrupted, table.reading, digest)
