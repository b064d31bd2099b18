"""Vectorisers of text in a file."""

import codecs
import re
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from polymargin.errors import ModelFileError
from polymargin.storage import Arrays, Fields, Tensors, put_strings, take_strings

_FUNCTIONS = ("preprocessor", "tokenizer", "analyzer", "strip_accents")
_MOST_PATTERN = 1000  # characters
_DTYPES = tuple(map(np.dtype, ("float32", "float64", "int32", "int64")))


def check_vectorizer(step: Any) -> None:
    """Refuse what would run code or open files, and patterns that are none."""
    for name in _FUNCTIONS:
        if callable(getattr(step, name, None)):
            raise ValueError(f"{name} is a function; a model file holds no code")
    if not hasattr(step, "input"):
        return
    if step.input != "content":
        raise ValueError(f"input={step.input!r}; only texts themselves are taken, input='content'")
    if step.tokenizer is not None or step.preprocessor is not None:
        raise ValueError("tokenizer and preprocessor have to be None")
    if not isinstance(step.dtype, (type, np.dtype)) or np.dtype(step.dtype) not in _DTYPES:
        raise ValueError(f"dtype={step.dtype!r:.40} is none of float32, float64, int32, int64")
    if step.token_pattern is not None:
        _check_pattern(step.token_pattern)
    elif step.analyzer == "word":
        raise ValueError("token_pattern is None, which leaves no way to find words")
    try:
        is_text = codecs.lookup(step.encoding)._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise ValueError(f"encoding={step.encoding!r:.40} is unknown")
    words = step.stop_words
    if isinstance(words, list) and not all(isinstance(word, str) for word in words):
        raise ValueError("stop_words are not all text")
    check_ngrams(step.ngram_range)


def check_ngrams(ends: Any) -> None:
    """Refuse what is not the least and the largest length of n-grams."""
    if len(ends) == 2 and all(type(end) is int for end in ends) and 1 <= ends[0] <= ends[1]:
        return
    raise ValueError(f"ngram_range={ends!r:.60} is not two ascending integers")


def _check_pattern(pattern: str) -> None:
    if len(pattern) > _MOST_PATTERN:
        raise ValueError(f"token_pattern has more than {_MOST_PATTERN} characters")
    try:
        groups = re.compile(pattern).groups
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"token_pattern is not a regular expression: {error}") from None
    if groups > 1:
        raise ValueError("token_pattern has more than one group")


def put_hashing(step: Any) -> tuple[dict[str, Any], Arrays]:
    """Nothing is learnt."""
    return {}, {}


def take_hashing(step: Any, fields: Fields, tensors: Tensors) -> None:
    """Nothing is learnt."""


def n_hashed(step: Any) -> int:
    return int(step.n_features)


def n_terms(step: Any) -> int:
    return len(step.vocabulary_)


def put_counting(step: Any) -> tuple[dict[str, Any], Arrays]:
    """The terms in the order of their features."""
    terms = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
    if [int(step.vocabulary_[term]) for term in terms] != list(range(len(terms))):
        raise ValueError("its vocabulary does not number the terms from 0 on")
    if not all(isinstance(term, str) for term in terms):
        raise ValueError("its vocabulary has terms that are not text")
    return {"fixed_vocabulary": bool(step.fixed_vocabulary_)}, put_strings(
        "vocabulary", terms, "the vocabulary"
    )


def take_counting(step: Any, fields: Fields, tensors: Tensors) -> None:
    """What `put_counting` has stored."""
    _take_terms(step, tensors, fields.flag("fixed_vocabulary"))


def _take_terms(step: Any, tensors: Tensors, is_fixed: bool) -> None:
    terms = take_strings(tensors, "vocabulary")
    step.vocabulary_ = {term: j for j, term in enumerate(terms)}
    if not terms or len(step.vocabulary_) != len(terms):
        raise ModelFileError("the vocabulary is empty or has a term twice")
    step.fixed_vocabulary_ = is_fixed
    if is_fixed:
        step.vocabulary = terms


def put_tfidf(step: TfidfVectorizer) -> tuple[dict[str, Any], Arrays]:
    """Terms and their weights."""
    fields, arrays = put_counting(step)
    return fields, arrays | ({"idf": step.idf_} if step.use_idf else {})


def take_tfidf(step: TfidfVectorizer, fields: Fields, tensors: Tensors) -> None:
    """What `put_tfidf` has stored."""
    take_weighted_terms(step, tensors, fields.flag("fixed_vocabulary"))


def take_weighted_terms(step: TfidfVectorizer, tensors: Tensors, is_fixed: bool = False) -> None:
    """Terms and their weights."""
    _take_terms(step, tensors, is_fixed)
    step._tfidf = TfidfTransformer(
        norm=step.norm,
        use_idf=step.use_idf,
        smooth_idf=step.smooth_idf,
        sublinear_tf=step.sublinear_tf,
    )
    step._tfidf.n_features_in_ = len(step.vocabulary_)
    if step.use_idf:
        step._tfidf.idf_ = tensors.floats("idf", (len(step.vocabulary_),))
