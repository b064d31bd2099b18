"""What may help with the numbers of a file."""

from typing import Any

import numpy as np
from scipy import sparse

from polymargin._wording import column_option

__all__ = ["first_no_count", "kernel_date_hint", "scale_hint"]

_LARGE = 10  # the size from which features are thought not to be scaled
_MANY_WORDS = 1000  # features
_FEW_WORDS = 0.05  # part of the features that rows have


def scale_hint(X: Any) -> str | None:
    """Which ``--scale`` may help rows that are not scaled."""
    if sparse.issparse(X):
        return (
            "the values are counts, as of words; --scale tfidf may make training faster and the "
            "model better"
            if _are_word_counts(X)
            else None
        )
    largest = max(-X.min(), X.max())
    if largest <= _LARGE:
        return None
    return (
        f"values reach {largest:,.6g} and are not scaled; --scale standard may make training "
        "faster and the model better"
    )


def kernel_date_hint(dates: list[str]) -> str:
    """What dates do to a kernel, which measures how near rows are to each other."""
    options = " ".join(column_option(name, "drop") for name in dates)
    return f"in a kernel dates set rows apart; {options} may give a better model"


def _are_word_counts(X: Any) -> bool:
    """Whole numbers, not of ones alone, in a few of many features."""
    n, d = X.shape
    is_wide = d >= _MANY_WORDS and 0 < X.nnz <= _FEW_WORDS * n * d
    return is_wide and X.data.max() > 1 and first_no_count(X) is None


def first_no_count(X: Any) -> float | None:
    """The first value that is negative or no whole number."""
    values = X.data if sparse.issparse(X) else X.ravel()
    wrong = np.flatnonzero((values < 0) | (values != np.floor(values)))
    return float(values[wrong[0]]) if len(wrong) else None
