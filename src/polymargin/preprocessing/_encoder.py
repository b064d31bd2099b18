"""Named columns as features."""

import warnings
from itertools import groupby
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from polymargin._attempt import unchanged_on_failure
from polymargin._sklearn import Interval, StrOptions, fit_context
from polymargin._wording import listed_names
from polymargin.errors import DataError
from polymargin.preprocessing._dates import date_feature_names, mark_parts, to_days
from polymargin.preprocessing._hashing import HashingVectorizer
from polymargin.preprocessing._scaler import Scaler
from polymargin.preprocessing._seen import SeenColumns
from polymargin.preprocessing._words import texts_of, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from polymargin.readers import Columns

__all__ = ["ColumnEncoder"]

_NARROW = 100  # features that are an array, however few of them are not zero
_FILLED = 0.25  # part of more features below which they are sparse


class ColumnEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Named columns as features, each kind in its way.

    - A number is one feature.
    - A category is one feature for each of its values, 0 or 1.
    - A text is tf-idf features of its words, or hashed ones.
    - A date is the days since the start of 1970, and a feature, 0 or 1, for each month, each day of
      the week and, if the training part has times of day, each hour. A day outside of the training
      part counts as the nearest one of it: what was learnt of days is not carried on beyond them.

    Columns are found by name, so that another file may have them in another order and others
    beside them. A value that the training part did not have is zero in all features of its
    category, and so is a missing one.

    Parameters
    ----------
    missing : {"error", "mean"}, default="error"
        What to do with a missing number or date: refuse it, or put the mean of the training part.
    scale : {"none", "minmax", "standard", "maxabs"}, default="none"
        How numbers and days are scaled, as in `Scaler`. All other features have values from 0 to 1
        already, and stay as they are.
    text_features : {"tfidf", "hashing"}, default="tfidf"
        What texts become, where their column does not say so itself.
    analyzer : {"word", "char", "char_wb"}, default="word"
        Features of texts are words, characters, or characters inside words.
    ngram_range : tuple of (int, int), default=(1, 1)
        Shortest and longest n-grams of texts.
    hash_bits : int, default=18
        Hashing makes ``2**hash_bits`` features of a text.
    n_jobs : int, default=None
        Number of threads that hash texts; None is 1, -1 all cores. Features do not depend on it.

    Attributes
    ----------
    names_ : tuple of str
        The columns.
    kinds_ : tuple of str
        What each of them is: "number", "category", "date", "date:hours", "text:tfidf" or
        "text:hashing".
    categories_ : list of (ndarray of str or None)
        The values of each category in ascending order; None for another column.
    means_, offsets_, factors_ : ndarray of shape (n_columns,)
        Means of numbers and days, and their shift and stretch; 0, 0 and 1 for another column.
    lows_, highs_ : ndarray of shape (n_columns,)
        The least and the largest number or day; 0 and 0 for another column, or where a file of an
        earlier version does not tell.
    vectorizers_ : list of (TfidfVectorizer, HashingVectorizer or None)
        What makes features of each text; None for another column.

    Notes
    -----
    `transform` gives a CSR array where there is text, or where there are more than 100 features of
    which less than a quarter is not zero; else an array.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin.preprocessing import ColumnEncoder
    >>> from polymargin.readers import Columns
    >>> size, colour = np.array([1.0, 2.0]), np.array(["red", "blue"], dtype=object)
    >>> encoder = ColumnEncoder().fit(Columns(("size", "colour"), (size, colour)))
    >>> encoder.feature_names_out_.tolist()
    ['size', 'colour=blue', 'colour=red']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "missing": [StrOptions({"error", "mean"})],
        "scale": [StrOptions({"none", "minmax", "standard", "maxabs"})],
        "text_features": [StrOptions({"tfidf", "hashing"})],
        "analyzer": [StrOptions({"word", "char", "char_wb"})],
        "ngram_range": [tuple],
        "hash_bits": [Interval(Integral, 1, 30, closed="both")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        missing: str = "error",
        scale: str = "none",
        text_features: str = "tfidf",
        analyzer: str = "word",
        ngram_range: tuple[int, int] = (1, 1),
        hash_bits: int = 18,
        n_jobs: int | None = None,
    ) -> None:
        self.missing = missing
        self.scale = scale
        self.text_features = text_features
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.hash_bits = hash_bits
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: "Columns", y: Any = None) -> "Self":
        """Learn categories, vocabularies and scales.

        Parameters
        ----------
        X : Columns
            Named columns.
        y : None
            Not used.

        Returns
        -------
        self : ColumnEncoder
        """
        with unchanged_on_failure(self):
            self.__dict__.pop("_seen", None)
            self._learn(X)
            for i, kind in enumerate(self.kinds_):
                if kind == "text:tfidf":
                    self.vectorizers_[i] = self._fit_vectorizer(self.names_[i], X.values[i])
        return self

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: "Columns", y: Any = None) -> "Self":
        """Learn from more rows; those of all calls since `fit` count together.

        Texts have to be hashed, which learns nothing: the weights of tf-idf need all rows at once.

        Parameters
        ----------
        X : Columns
            Named columns.
        y : None
            Not used.

        Returns
        -------
        self : ColumnEncoder
        """
        self._learn(X)
        for name, kind in zip(self.names_, self.kinds_, strict=True):
            if kind == "text:tfidf":
                raise ValueError(
                    f"tf-idf of column {name!r} needs all rows at once; hash it, with "
                    "text_features='hashing' or the kind 'text:hashing'"
                )
        return self

    def _learn(self, X: "Columns") -> None:
        seen = getattr(self, "_seen", None)
        if seen is None:
            seen = SeenColumns(self.scale, tuple(X.names), self._stored_kinds(X))
        elif tuple(X.names) != seen.names:
            raise ValueError(
                f"the columns are {X.names!r:.200} and were {seen.names!r:.200} before"
            )
        seen.add(X)
        self._seen = seen
        self.names_, self.kinds_ = seen.names, tuple(seen.kinds)
        self.categories_: list[Any] = seen.categories()
        means, offsets, factors = seen.numbers()
        self.means_: NDArray[np.float64] = means
        self.offsets_: NDArray[np.float64] = offsets
        self.factors_: NDArray[np.float64] = factors
        lows, highs = seen.ranges()
        self.lows_: NDArray[np.float64] = lows
        self.highs_: NDArray[np.float64] = highs
        self.vectorizers_: list[Any] = [
            self.make_vectorizer(kind) if kind.startswith("text:") else None for kind in self.kinds_
        ]

    def _stored_kinds(self, X: "Columns") -> list[str]:
        kinds = [X.kinds[name] for name in X.names]
        return [f"text:{self.text_features}" if kind == "text" else kind for kind in kinds]

    def make_vectorizer(self, kind: str) -> Any:
        """What makes features of a text, not fitted; `kind` is "text:tfidf" or "text:hashing"."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        shared: dict[str, Any] = {"analyzer": self.analyzer, "ngram_range": self.ngram_range}
        if kind == "text:hashing":
            return HashingVectorizer(n_features=2**self.hash_bits, alternate_sign=False, **shared)
        return TfidfVectorizer(sublinear_tf=True, **shared)

    def _fit_vectorizer(self, name: str, values: "NDArray[Any]") -> Any:
        texts = texts_of(values)
        vectorizer = self.make_vectorizer("text:tfidf")
        if not any(map(vectorizer.build_analyzer(), texts)):
            raise DataError(
                f"the texts of column {name!r} have no words; leave it out (kind 'drop'), or take "
                "its characters (analyzer='char')"
            )
        return vectorizer.fit(texts)

    @property
    def is_numeric(self) -> bool:
        """Whether all columns are numbers and none may be missing: rows of numbers do as well."""
        return self.missing == "error" and all(kind == "number" for kind in self.kinds_)

    def as_scaler(self) -> Scaler | None:
        """What does the same to rows of numbers; None where they stay as they are."""
        if self.scale == "none":
            return None
        scaler = Scaler(self.scale)
        scaler.offset_, scaler.factor_ = self.offsets_, self.factors_
        scaler.n_features_in_ = len(self.names_)
        return scaler

    @property
    def kinds(self) -> dict[str, str]:
        """How the columns of another file have to be read: the kinds of `readers.read`."""
        read = [kind.partition(":")[0] for kind in self.kinds_]
        return dict(zip(self.names_, read, strict=True))

    def measured(self, X: "Columns") -> "dict[str, NDArray[np.float64]]":
        """The numbers, and the days since 1970, of the columns that hold such; without gaps."""
        found = {}
        for name, values in zip(X.names, X.values, strict=True):
            if values.dtype.kind in "Mbiuf" and name in self.names_:
                numbers = to_days(values) if values.dtype.kind == "M" else values.astype(np.float64)
                found[name] = numbers[~np.isnan(numbers)]
        return found

    @property
    def n_features_out_(self) -> int:
        """How many features `transform` makes."""
        return sum(self._widths())

    def _widths(self) -> list[int]:
        return [
            _width(kind, categories, vectorizer)
            for kind, categories, vectorizer in zip(
                self.kinds_, self.categories_, self.vectorizers_, strict=True
            )
        ]

    @property
    def _is_sparse(self) -> bool:
        if any(kind.startswith("text:") for kind in self.kinds_):
            return True
        n_filled = sum(3 if kind.startswith("date") else 1 for kind in self.kinds_)
        return self.n_features_out_ > max(_NARROW, n_filled / _FILLED)

    def transform(self, X: "Columns") -> Any:
        """Encode columns.

        Parameters
        ----------
        X : Columns
            Columns among which are all those that were there in `fit`.

        Returns
        -------
        X : ndarray or csr_array of shape (n, d)
        """
        check_is_fitted(self, "names_")
        given = dict(zip(X.names, X.values, strict=True))
        absent = [name for name in self.names_ if name not in given]
        if absent:
            raise DataError(
                f"{_listed(absent)} of the training file {'is' if len(absent) == 1 else 'are'} "
                f"missing; the columns here are {listed_names(X.names)}"
            )
        n = len(X.values[0]) if X.values else 0
        columns = [given[name] for name in self.names_]
        if not self._is_sparse:
            return self._fill(range(len(columns)), columns, n)
        blocks: list[Any] = []
        runs = groupby(range(len(columns)), key=lambda i: self.kinds_[i].partition(":")[0])
        for kind, run in runs:
            if kind in ("number", "date"):
                blocks.append(sparse.csr_array(self._fill(list(run), columns, n)))
            else:
                blocks += [self._encode_words(i, columns[i]) for i in run]
        return sparse.hstack(blocks, format="csr")

    def _fill(
        self, chosen: "Sequence[int]", columns: "list[NDArray[Any]]", n: int
    ) -> "NDArray[np.float64]":
        """The features of some columns that are no texts."""
        widths = self._widths()
        filled = np.zeros((n, sum(widths[i] for i in chosen)))
        first = 0
        for i in chosen:
            part = filled[:, first : first + widths[i]]
            if self.categories_[i] is not None:
                found = _positions(self.names_[i], columns[i], self.categories_[i])
                rows = np.flatnonzero(found >= 0)
                part[rows, found[rows]] = 1.0
            elif self.kinds_[i] == "number":
                part[:, 0] = self._numbers(i, columns[i])
            else:
                self._fill_dates(i, columns[i], part)
            first += widths[i]
        return filled

    def _fill_dates(self, i: int, dates: "NDArray[Any]", out: "NDArray[np.float64]") -> None:
        if dates.dtype.kind != "M":
            raise DataError(
                f"column {self.names_[i]!r} holds no dates; in the training file it did"
            )
        days = to_days(dates)
        if self.highs_[i] > self.lows_[i]:  # else they are not known, or tell nothing
            days = np.clip(days, self.lows_[i], self.highs_[i])
        out[:, 0] = self._numbers(i, days)
        mark_parts(dates, out[:, 1:])

    def _encode_words(self, i: int, values: "NDArray[Any]") -> Any:
        """The sparse features of a category or a text."""
        categories = self.categories_[i]
        if categories is None:
            vectorizer = self.vectorizers_[i]
            if isinstance(vectorizer, HashingVectorizer):
                vectorizer = clone(vectorizer).set_params(n_jobs=self.n_jobs)
            return sparse.csr_array(vectorizer.transform(texts_of(values)))
        found = _positions(self.names_[i], values, categories)
        is_known = found >= 0
        starts = np.concatenate([[0], np.cumsum(is_known)])
        ones = np.ones(starts[-1])
        shape = (len(values), len(categories))
        return sparse.csr_array((ones, found[is_known], starts), shape=shape)

    def _numbers(self, i: int, values: "NDArray[Any]") -> "NDArray[np.float64]":
        name = self.names_[i]
        if values.dtype.kind not in "biuf":
            raise DataError(f"column {name!r} holds text; in the training file it held numbers")
        missing = np.isnan(values)
        if np.any(missing):
            if self.missing == "error":
                raise DataError(
                    f"column {name!r} has {np.count_nonzero(missing)} missing number(s), the first "
                    f"in row {int(np.argmax(missing)) + 1}; fill them in, or ask for their mean"
                )
            values = np.where(missing, self.means_[i], values)
        return (values - self.offsets_[i]) * self.factors_[i] if self.scale != "none" else values

    @property
    def feature_names_out_(self) -> "NDArray[Any]":
        """Names of the features.

        ``column`` for a number, ``column=value`` for a value of a category, ``column:word`` for a
        word, ``column#3`` for a place of hashed words, ``column.month=12`` for a part of a date.
        """
        names: list[str] = []
        for i, (name, kind) in enumerate(zip(self.names_, self.kinds_, strict=True)):
            if kind == "number":
                names.append(name)
            elif kind == "category":
                names += [f"{name}={value}" for value in self.categories_[i]]
            elif kind == "text:tfidf":
                names += [f"{name}:{w}" for w in self.vectorizers_[i].get_feature_names_out()]
            elif kind == "text:hashing":
                names += [f"{name}#{j}" for j in range(2**self.hash_bits)]
            else:
                names += date_feature_names(name, kind == "date:hours")
        return np.array(names, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> "NDArray[Any]":
        """The same as `feature_names_out_`."""
        check_is_fitted(self, "names_")
        return self.feature_names_out_


def _width(kind: str, categories: "NDArray[Any] | None", vectorizer: Any) -> int:
    if categories is not None:
        return len(categories)
    if kind == "text:hashing":
        return int(vectorizer.n_features)
    if kind == "text:tfidf":
        return len(vectorizer.vocabulary_)
    return len(date_feature_names("", kind == "date:hours")) if kind.startswith("date") else 1


def _positions(
    name: str, values: "NDArray[Any]", categories: "NDArray[Any]"
) -> "NDArray[np.int64]":
    """Where each value is among the categories; -1 for one that is not, or is missing."""
    words = words_of(values)
    position: dict[str | None, int] = {value: c for c, value in enumerate(categories.tolist())}
    found = np.array([position.get(word, -1) for word in words], dtype=np.int64)
    if (found < 0).all() and any(word is not None for word in words):
        warnings.warn(
            f"no value of column {name!r} was in the training file, which had "
            f"{', '.join(map(repr, categories[:3].tolist()))} and the like",
            stacklevel=4,
        )
    return found


def _listed(names: list[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {listed_names(names)}"
