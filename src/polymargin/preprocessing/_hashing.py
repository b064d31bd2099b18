"""`HashingVectorizer`: texts as hashed terms, by compiled code."""

from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import text

from polymargin._threads import count_threads
from polymargin.preprocessing._characters import characters
from polymargin.preprocessing._hasher import hash_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["HashingVectorizer"]

_TOKENS = r"(?u)\b\w\w+\b"  # the default of scikit-learn
_TEXTS = 1 << 14  # at a time: between them Ctrl-C is heard
_MOST = np.iinfo(np.int32).max
_STEPS = (
    "build_analyzer",
    "build_preprocessor",
    "build_tokenizer",
    "decode",
    "get_stop_words",
    "_word_ngrams",
    "_char_ngrams",
    "_char_wb_ngrams",
    "_white_spaces",
    "_get_hasher",
)


class HashingVectorizer(text.HashingVectorizer):  # type: ignore[misc]
    """scikit-learn's `HashingVectorizer`, many times as fast and on several threads.

    `transform` gives the same matrix, bit for bit. Compiled code makes it of words or characters,
    n-grams of any lengths, with or without small letters, signs and a norm. What it does not know
    is left to scikit-learn, whose speed it then has: `is_compiled` tells. That are functions in
    place of a step, another `token_pattern`, `stop_words` of words, `strip_accents`, an `input`
    that is not "content", and a `dtype` other than float64 and float32.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, stop_words, \
    token_pattern, ngram_range, analyzer, n_features, binary, norm, alternate_sign, dtype
        As of scikit-learn's class.
    n_jobs : int, default=None
        Number of threads; None is 1, -1 all cores. Rows do not depend on it.

    Examples
    --------
    >>> from polymargin.preprocessing import HashingVectorizer
    >>> HashingVectorizer(n_features=8).fit_transform(["one two", "two three"]).shape
    (2, 8)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **text.HashingVectorizer._parameter_constraints,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern: str | None = _TOKENS,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )
        self.n_jobs = n_jobs

    @property
    def is_compiled(self) -> bool:
        """Whether compiled code knows these settings."""
        if isinstance(self.analyzer, str) and self.analyzer == "word":
            knows = self.token_pattern == _TOKENS and self.stop_words is None
        else:
            knows = isinstance(self.analyzer, str) and self.analyzer in ("char", "char_wb")
        functions = (self.preprocessor, self.tokenizer, self.strip_accents)
        own = text.HashingVectorizer
        return (
            knows
            and not any(step in vars(self) for step in _STEPS)
            and self.input == "content"
            and all(function is None for function in functions)
            and all(getattr(type(self), step) is getattr(own, step) for step in _STEPS)
            and _is_float(self.dtype)
            and _are_lengths(self.ngram_range)
            and isinstance(self.n_features, Integral)
            and 1 <= int(self.n_features) <= _MOST
        )

    def transform(self, X: "Iterable[Any]") -> Any:
        """Hash the terms of texts.

        Parameters
        ----------
        X : iterable of str or bytes
            The texts.

        Returns
        -------
        X : csr_matrix or csr_array of shape (n, n_features)
            As scikit-learn is configured.
        """
        if isinstance(X, str) or not self.is_compiled:
            return super().transform(X)
        like = super().transform([""])
        blocks, n_terms = [], 0
        for texts in _blocks(X):
            rows, terms = self._hash(texts)
            blocks.append(rows)
            n_terms += terms
        if not blocks:
            return super().transform([])
        rows = blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
        # scikit-learn chooses the type before it sums equal terms.
        index_type = np.int32 if n_terms <= _MOST else np.int64
        indices = rows.indices.astype(index_type, copy=False)
        indptr = rows.indptr.astype(index_type, copy=False)
        made = type(like)((rows.data, indices, indptr), shape=rows.shape)
        made.has_canonical_format = True
        return made

    def _hash(self, texts: tuple[Any, ...]) -> tuple[Any, int]:
        """The rows, and how many terms they have."""
        rows, skipped, n_terms = self._compiled(texts, bool(self.lowercase))
        if len(skipped):
            left = tuple(self._prepared(texts[i]) for i in skipped)
            others, still, more = self._compiled(left, lowercase=False)
            rows = _filled(rows, skipped, others)
            skipped, n_terms = skipped[still], n_terms + more
        if len(skipped):
            others = super().transform([texts[i] for i in skipped])
            rows = _filled(rows, skipped, others)
            n_terms += others.nnz  # at least
        return rows, n_terms

    def _prepared(self, document: Any) -> Any:
        """A document as Python decodes it and makes its letters small."""
        if isinstance(document, bytes):
            document = self.decode(document)
        if type(document) not in (str, np.str_):
            return document
        document = str.__str__(document)  # that of NumPy loses zeros at the end
        return document.lower() if self.lowercase else document

    def _compiled(self, texts: tuple[Any, ...], lowercase: bool) -> tuple[Any, Any, int]:
        """The rows, those that are skipped and empty, and the number of terms."""
        values, indices, indptr, skipped, n_terms = hash_terms(
            texts,
            characters(lowercase),
            analyzer=self.analyzer,
            least=int(self.ngram_range[0]),
            most=int(self.ngram_range[1]),
            n_features=int(self.n_features),
            alternate_sign=bool(self.alternate_sign),
            binary=bool(self.binary),
            norm=self.norm,
            single=np.dtype(self.dtype) == np.float32,
            n_threads=count_threads(self.n_jobs),
        )
        shape = (len(texts), int(self.n_features))
        return sparse.csr_array((values, indices, indptr), shape=shape), skipped, n_terms


def _blocks(texts: "Iterable[Any]") -> "Iterator[tuple[Any, ...]]":
    """Some texts at a time."""
    left = iter(texts.tolist() if type(texts) is np.ndarray and texts.ndim == 1 else texts)
    while block := tuple(islice(left, _TEXTS)):
        yield block


def _filled(rows: Any, places: "NDArray[np.int64]", others: Any) -> Any:
    """The rows with others at some places."""
    n = rows.shape[0]
    order = np.arange(n)
    order[places] = n + np.arange(len(places))
    return sparse.vstack([rows, others], format="csr")[order]


def _is_float(dtype: Any) -> bool:
    try:
        return np.dtype(dtype) in (np.float32, np.float64)
    except TypeError:
        return False


def _are_lengths(ends: Any) -> bool:
    return (
        isinstance(ends, tuple)
        and len(ends) == 2
        and all(isinstance(end, Integral) for end in ends)
        and 1 <= ends[0] <= ends[1] <= _MOST
    )
