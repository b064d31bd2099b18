"""What can be wrong with files and the environment, in words for people."""

from importlib import import_module
from typing import Any

__all__ = ["DataError", "MissingPackageError", "ModelFileError", "require"]


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
