"""Files that a person might bring: one command is as good as careful work by hand."""

from pathlib import Path

import pytest
from brought import NAMES, Brought, Files, case
from cli_helpers import done

POINT = 0.01


def bring(name: str, folder: Path) -> tuple[Brought, Files]:
    """One of the files; the test is skipped where the data set is not there that it is made of."""
    brought = case(name)
    try:
        return brought, brought.make(folder)
    except FileNotFoundError as absent:
        pytest.skip(str(absent))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of LinearSVC
@pytest.mark.parametrize("name", NAMES)
def test_one_command_is_as_good_as_work_by_hand(name: str, tmp_path: Path) -> None:
    brought, files = bring(name, tmp_path)
    model = tmp_path / "m.safetensors"
    trained = done("train", files.train, *brought.options, "--json", "-o", model).json
    assert trained["converged"]
    accuracy = done("score", model, files.test, "--json").json["accuracy"]
    assert accuracy >= brought.by_hand(files.train)(files.test) - POINT


def test_rows_sorted_by_class_can_be_streamed(tmp_path: Path) -> None:
    brought, files = bring("sorted_rows", tmp_path)
    model = tmp_path / "m.safetensors"
    options = (*brought.options, "--stream", "--passes", 20)
    result = done("train", files.train, *options, "-q", "-o", model)
    assert result.err == ""
    accuracy = done("score", model, files.test, "--json").json["accuracy"]
    assert accuracy >= _descend_by_hand(files) - POINT


def _descend_by_hand(files: Files) -> float:
    """Stochastic gradient descent in as many passes, over rows that are shuffled in memory."""
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    X, y = load_svmlight_file(str(files.train))
    descent = SGDClassifier(max_iter=20, tol=None, random_state=0)
    model = make_pipeline(MaxAbsScaler(), descent).fit(X, y)
    return float(model.score(*load_svmlight_file(str(files.test), n_features=X.shape[1])))
