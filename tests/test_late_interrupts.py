"""Ctrl-C at the very end of a fit, when the core does not look for it any more."""

import os
import signal

import numpy as np
import pytest
from scipy import sparse

from polymargin import LinearSVM, core
from polymargin.fit import _descent


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_was_reached_is_kept(monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    rows = sparse.random_array((600, 400), density=0.02, rng=np.random.default_rng(0), format="csr")
    train = core.train_linear

    def interrupted(*args: object) -> object:
        result = train(*args)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(_descent.core, "train_linear", interrupted)
    model = LinearSVM("ww", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows.astype(dtype), np.arange(600) % 5)
    assert model.converged_
    assert 0 <= model.dual_gap_ <= 1e-3
