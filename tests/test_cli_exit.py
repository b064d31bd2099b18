"""Which errors are a refusal, told in a line, and which are a defect, shown with a traceback."""

from traceback import extract_tb
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from polymargin import LinearSVM
from polymargin.cli._exit import is_refusal


def raised_in(module: str, path: str, error: Exception) -> Exception:
    """The error, as a function of that module in that file would raise it."""
    code = compile("def fail(error):\n    raise error", path, "exec")
    functions: dict[str, Any] = {"__name__": module}
    exec(code, functions)
    with pytest.raises(type(error)):
        functions["fail"](error)
    assert extract_tb(error.__traceback__)[-1].filename == path
    return error


@pytest.mark.parametrize(
    ("module", "path", "is_one"),
    [
        (
            "polymargin.fit._linear",
            "/usr/lib/python3/polymargin/fit/_linear.py",
            True,
        ),
        ("polymargin.fit._linear", "/opt/app.zip/_linear.py", True),
        ("sklearn.utils.validation", "C:\\sklearn\\utils\\validation.py", True),
        ("numpy.linalg", "/home/x/polymargin/.venv/lib/site-packages/numpy/linalg.py", False),
        ("scipy.sparse._csr", "/home/x/sklearn/.venv/lib/site-packages/scipy/_csr.py", False),
        ("polymargin_tools.a", "/usr/lib/python3/site-packages/polymargin_tools/a.py", False),
    ],
)
def test_the_module_tells_a_refusal_and_not_the_path(module: str, path: str, is_one: bool) -> None:
    assert is_refusal(raised_in(module, path, ValueError("no"))) is is_one
    assert not is_refusal(raised_in(module, path, TypeError("no")))


def test_what_the_core_refuses_is_a_refusal() -> None:
    X = sparse.csr_array(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match="column index 7") as caught:
        LinearSVM().fit(X, [0, 1, 2])
    assert is_refusal(caught.value)


def test_an_error_that_was_never_raised_is_no_refusal() -> None:
    assert not is_refusal(ValueError("no"))
