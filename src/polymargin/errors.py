"""What can be wrong with data, files and the environment, in words for people."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "DataError",
    "MissingPackageError",
    "ModelFileError",
    "NotSeparableError",
    "RankError",
    "require",
]


class DataError(ValueError):
    """A data file that cannot be read as what it should be.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    path : str, optional
        The file.
    line, column : int, optional
        Where in the file, counted from 1.

    Examples
    --------
    >>> from polymargin.errors import DataError
    >>> print(DataError("'x' is not a number", path="a.svm", line=3, column=7))
    a.svm:3:7: 'x' is not a number
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path, self.line, self.column = path, line, column
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


class ModelFileError(ValueError):
    """A model file or checkpoint that is damaged, foreign or too new."""


class NotSeparableError(ValueError):
    """``C=np.inf`` asks for classes that can be separated, and these cannot.

    Parameters
    ----------
    message : str
        What stands in the way, and what to do.
    rows : ndarray of int
        Numbers of the rows that are on the wrong side, counted from 0, the worst ones first.
    margin : float
        No weights of norm 1 keep all rows farther away from all borders.
    template : str
        The message with ``{}`` for each row that it names, the first of `rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin import LinearSVM
    >>> from polymargin.errors import NotSeparableError
    >>> try:
    ...     LinearSVM(C=np.inf).fit([[0.0], [1.0], [0.0]], ["a", "b", "b"])
    ... except NotSeparableError as error:
    ...     print(error.rows)
    [0 2]
    """

    rows: "NDArray[np.int64]"
    margin: float
    template: str

    def __init__(self, message: str, **found: Any) -> None:
        super().__init__(message)
        vars(self).update(found)  # a copy of an error is made of its message alone at first

    def with_names(self, name: Callable[[int], str]) -> str:
        """The message with other names of rows, made of their numbers."""
        return self.template.format(*map(name, self.rows.tolist()))


class RankError(RuntimeError):
    """Another process of a distributed fit has failed, or the processes do not agree.

    Parameters
    ----------
    message : str
        Which one, and what it says.
    rank : int
        The process.

    Examples
    --------
    >>> from polymargin.errors import RankError
    >>> RankError("rank 2 of 4 failed: ValueError: y contains NaN", 2).rank
    2
    """

    def __init__(self, message: str, rank: int = 0) -> None:
        super().__init__(message)
        self.rank = rank


class MissingPackageError(ImportError):
    """A package that is only needed for some files or outputs is not installed."""


def require(module: str, *, extra: str, purpose: str) -> Any:
    """The module of that name, or an error that says how to get it.

    Parameters
    ----------
    module : str
        What to import.
    extra : str
        The optional dependencies of this package that bring it.
    purpose : str
        What it is for, as the subject of "... need the package".

    Returns
    -------
    module : module

    Examples
    --------
    >>> from polymargin.errors import require
    >>> require("json", extra="all", purpose="JSON files").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(
            f"{purpose} need the package {package}: pip install 'polymargin[{extra}]'"
        ) from error
