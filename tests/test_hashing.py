"""`HashingVectorizer`: the matrices of scikit-learn's class, bit for bit."""

import pickle
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction import text as sklearn_text

from polymargin.preprocessing import HashingVectorizer
from polymargin.preprocessing import _hashing as hashing

LEAST = "akqlrggi"  # whose hash is -2^31
WORDS = [
    "One two, one-two; three_4 x y2",
    "",
    "   ",
    "Straße ÄÖÜ naïve 日本語 한국어 ΟΔΟΣ Οδός İstanbul ﬁn ǅ 𐐀𐐨 x\u0301y",
    f"{LEAST} {LEAST.upper()} a b",
    "tab\there\u2003\u2003em \x1c\x1d\x85 nbsp\xa0 zero\u200bwidth \ufeffmark",
]
ANALYZERS = ("word", "char", "char_wb")

# Letters whose small ones are odd, blanks of all sorts, marks that join, and everything else.
ODD = st.sampled_from("aB9_ -'\t\nßẞİıΣσςΌǅﬁµK\u0301\u0345\xad\u180e\u2003\u2009\x1f\x85😀𝒜𐐀½²٣")
TEXTS = st.text(st.one_of(ODD, st.characters(exclude_categories=["Cs"])), max_size=40)


def assert_same(found: Any, wanted: Any) -> None:
    """Types, shapes and every bit."""
    assert type(found) is type(wanted)
    assert found.shape == wanted.shape
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes(), name


def check(documents: Any, n_jobs: int | None = None, **options: Any) -> Any:
    """The rows of texts, which have to be those of scikit-learn."""
    vectorizer = HashingVectorizer(n_jobs=n_jobs, **options)
    assert vectorizer.is_compiled
    found = vectorizer.fit_transform(documents)
    assert_same(found, sklearn_text.HashingVectorizer(**options).fit_transform(documents))
    return found


@pytest.fixture
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scikit-learn's class hash nothing but the empty text that tells what rows are like."""
    theirs = sklearn_text.HashingVectorizer.transform

    def transform(self: Any, X: Any) -> Any:
        assert not isinstance(self, HashingVectorizer) or X == [""]
        return theirs(self, X)

    monkeypatch.setattr(sklearn_text.HashingVectorizer, "transform", transform)


class TestSameMatrix:
    @given(
        texts=st.lists(TEXTS, min_size=1, max_size=6),
        analyzer=st.sampled_from(ANALYZERS),
        ngrams=st.tuples(st.integers(1, 5), st.integers(0, 4)),
        n_features=st.sampled_from([1, 7, 2**10, 2**18, 1_000_003, 2**31 - 2]),
        lowercase=st.booleans(),
        alternate_sign=st.booleans(),
        binary=st.booleans(),
        norm=st.sampled_from(["l1", "l2", None]),
        dtype=st.sampled_from([np.float64, np.float32]),
        n_jobs=st.sampled_from([None, 2]),
    )
    @settings(max_examples=300, deadline=None)
    def test_for_any_texts_and_settings(
        self, texts: list[str], ngrams: tuple[int, int], **options: Any
    ) -> None:
        check(texts, ngram_range=(ngrams[0], sum(ngrams)), **options)

    @pytest.mark.parametrize("analyzer", ANALYZERS)
    @pytest.mark.parametrize("ngrams", [(1, 1), (1, 4), (2, 3), (6, 9)])
    def test_without_scikit_learn(
        self, analyzer: str, ngrams: tuple[int, int], no_fallback: None
    ) -> None:
        check(WORDS, analyzer=analyzer, ngram_range=ngrams)

    @pytest.mark.parametrize("analyzer", ANALYZERS)
    @pytest.mark.parametrize("lowercase", [False, True])
    def test_for_every_character(self, analyzer: str, lowercase: bool, no_fallback: None) -> None:
        # The last planes, all alike, are sampled.
        points = [*range(0xD800), *range(0xE000, 0x34000), *range(0x34000, sys.maxunicode, 41)]
        letters = list(map(chr, points))
        rows = 1000
        texts = [
            "".join(f"a{c}{c}b {c}x{c} " for c in letters[first : first + rows])
            for first in range(0, len(letters), rows)
        ]
        check(texts, analyzer=analyzer, ngram_range=(2, 2), lowercase=lowercase)

    def test_of_a_word_whose_hash_is_the_least(self) -> None:
        X = check([LEAST], n_features=1000, norm=None)
        assert X.indices.tolist() == [2**31 % 1000]
        assert X.data.tolist() == [-1.0]

    def test_keeps_sums_that_are_zero(self) -> None:
        X = check(["one two three four five six"], n_features=1, ngram_range=(1, 2), norm=None)
        Y = check(["x" + "yz" * n for n in range(9)], n_features=2, analyzer="char", norm=None)
        assert X.nnz == 1
        assert Y.nnz == sum(len(set(row.indices)) for row in Y) > np.count_nonzero(Y.data)

    @pytest.mark.parametrize("size", [15, 16, 17, 127, 4096, 4097, 200_000])
    def test_of_texts_of_many_lengths(self, size: int) -> None:
        random = np.random.default_rng(size)
        letters = random.choice(list("abcdefghijkl mnopqÄö"), size=size)
        check(["".join(letters), "a"], analyzer="char", ngram_range=(1, 3))
        check(["".join(letters), "a"], ngram_range=(1, 2), n_features=100_003)

    @pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
    def test_on_threads(self, n_jobs: int) -> None:
        random = np.random.default_rng(0)
        texts = [
            "".join(random.choice(list("ab cd"), size=n)) for n in random.integers(0, 99, 3000)
        ]
        texts[::500] = ["ΑΣ"] * 6
        check(texts, n_jobs=n_jobs, analyzer="char_wb", ngram_range=(1, 4), n_features=2**12)

    @pytest.mark.parametrize("sparse", ["spmatrix", "sparray"])
    def test_is_of_the_type_that_is_set(self, sparse: str) -> None:
        import sklearn

        if "sparse_interface" not in sklearn.get_config():
            pytest.skip("this scikit-learn has one type alone")
        with sklearn.config_context(sparse_interface=sparse):
            check(WORDS)


class TestDocuments:
    @pytest.mark.parametrize("kind", [list, tuple, np.array, iter])
    def test_come_in_any_way(self, kind: Any, no_fallback: None) -> None:
        found = HashingVectorizer().transform(kind(WORDS))
        assert_same(found, sklearn_text.HashingVectorizer().transform(WORDS))

    def test_are_read_some_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hashing, "_TEXTS", 4)
        texts = WORDS * 3
        assert [len(block) for block in hashing._blocks(texts)][:-1] == [4] * (len(texts) // 4)
        held: list[str] = []

        def documents() -> Iterator[str]:
            for text in texts:
                held.append(text)
                yield text

        blocks = hashing._blocks(documents())
        assert len(next(blocks)) == len(held) == 4
        found = HashingVectorizer().transform(iter(texts))
        assert_same(found, sklearn_text.HashingVectorizer().transform(texts))

    def test_may_be_bytes(self, no_fallback: None) -> None:
        mixed = [WORDS[0], WORDS[3].encode(), WORDS[3], b"", "ΑΣ", np.str_("Some words")]
        check(mixed)
        check([b"na\xefve words", "x yz"], encoding="latin-1")
        check([b"na\xefve words", "x yz"], decode_error="ignore")
        check([np.str_("c\0"), np.str_("Ac\0\0")], analyzer="char")

    @pytest.mark.parametrize(
        ("documents", "error"),
        [
            (["fine", b"na\xefve"], UnicodeDecodeError),
            (["fine", None], AttributeError),
            (["fine", np.nan], ValueError),
            ("a text", ValueError),
        ],
    )
    def test_that_are_wrong_are_refused_alike(self, documents: Any, error: Any) -> None:
        with pytest.raises(error) as theirs:
            sklearn_text.HashingVectorizer().transform(documents)
        with pytest.raises(theirs.type, match=re.escape(str(theirs.value)[:40])):
            HashingVectorizer().transform(documents)

    def test_have_to_be_there(self) -> None:
        with pytest.raises(Exception) as theirs:
            sklearn_text.HashingVectorizer().transform([])
        with pytest.raises(theirs.type):
            HashingVectorizer().transform([])

    def test_with_half_a_character_are_refused_where_it_is_hashed(self) -> None:
        check(["ab \ud800 cd"])
        for analyzer in ("char", "char_wb"):
            with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
                HashingVectorizer(analyzer=analyzer).transform(["fine", "ab \ud800 cd"])

    @given(st.lists(st.one_of(TEXTS, TEXTS.map(str.encode)), min_size=1, max_size=5))
    @example(["Σ", "ab", "Σ", b"cd"])
    @settings(max_examples=60, deadline=None)
    def test_in_doubt_stay_in_their_place(self, documents: list[Any]) -> None:
        check(documents, analyzer="char_wb", ngram_range=(1, 2), n_features=2**8)

    def test_with_more_terms_than_single_precision_counts(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        long = "a" * (2**24 + 2)
        found = HashingVectorizer(
            analyzer="char", norm=None, alternate_sign=False, dtype=np.float64
        ).transform([long])
        assert found.data.tolist() == [2.0**24 + 2]
        asked: list[Any] = []
        theirs = sklearn_text.HashingVectorizer.transform

        def transform(self: Any, X: Any) -> Any:
            asked.append(X)
            return theirs(self, [""] * len(X))

        monkeypatch.setattr(sklearn_text.HashingVectorizer, "transform", transform)
        HashingVectorizer(analyzer="char", dtype=np.float32).transform(["b", long])
        assert asked == [[""], [long]]


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"strip_accents": "unicode"},
            {"strip_accents": "ascii"},
            {"stop_words": "english"},
            {"stop_words": ["one", "two"]},
            {"token_pattern": r"\w"},
            {"preprocessor": str.upper, "lowercase": False},
            {"tokenizer": str.split, "token_pattern": None},
            {"analyzer": str.split},
            {"dtype": np.int64, "norm": None},
        ],
    )
    def test_that_are_not_compiled_are_left_to_scikit_learn(self, options: dict[str, Any]) -> None:
        vectorizer = HashingVectorizer(**options)
        assert not vectorizer.is_compiled
        wanted = sklearn_text.HashingVectorizer(**options).fit_transform(WORDS)
        assert_same(vectorizer.fit_transform(WORDS), wanted)

    def test_of_words_do_not_matter_to_characters(self) -> None:
        with pytest.warns(UserWarning, match="stop_words"):
            check(WORDS, analyzer="char", stop_words="english")

    @pytest.mark.parametrize("dtype", ["float32", np.dtype(np.float32)])
    def test_may_name_the_type(self, dtype: Any) -> None:
        check(WORDS, dtype=dtype)

    @pytest.mark.parametrize(
        "options",
        [
            {"ngram_range": (2, 1)},
            {"n_features": 0},
            {"n_features": 2**31 - 1},
            {"norm": "max"},
            {"analyzer": "words"},
            {"token_pattern": "(a)(b)"},
            {"stop_words": "german"},
            {"n_jobs": "two"},
        ],
    )
    def test_that_are_wrong_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"."):
            HashingVectorizer(**options).fit_transform(WORDS)

    @pytest.mark.parametrize("ngrams", [(0, 1), (-1, 2), (1, 2**64)])
    def test_that_scikit_learn_takes_are_left_to_it(self, ngrams: tuple[int, int]) -> None:
        wanted = sklearn_text.HashingVectorizer(ngram_range=ngrams, analyzer="char")
        found = HashingVectorizer(ngram_range=ngrams, analyzer="char").transform(WORDS)
        assert_same(found, wanted.transform(WORDS))

    def test_of_a_class_with_its_own_steps_are_left_to_it(self) -> None:
        class Reversed(HashingVectorizer):
            def build_preprocessor(self) -> Any:
                return lambda document: document[::-1]

        found = Reversed().transform(WORDS)
        backwards = [text[::-1] for text in WORDS]
        wanted = sklearn_text.HashingVectorizer(lowercase=False).transform(backwards)
        assert_same(found, wanted)

    @pytest.mark.parametrize("step", ["build_analyzer", "build_preprocessor", "decode"])
    def test_of_an_object_with_its_own_steps_are_left_to_it(self, step: str) -> None:
        own: dict[str, Any] = {
            "build_analyzer": lambda: str.split,
            "build_preprocessor": lambda: str.upper,
            "decode": lambda document: document[::-1],
        }
        found, wanted = HashingVectorizer(), sklearn_text.HashingVectorizer()
        for vectorizer in (found, wanted):
            setattr(vectorizer, step, own[step])
        assert not found.is_compiled
        assert_same(found.transform(WORDS), wanted.transform(WORDS))

    @pytest.mark.parametrize("options", [{"dtype": "none"}, {"analyzer": np.array(["a", "b"])}])
    def test_that_mean_nothing_are_not_compiled(self, options: dict[str, Any]) -> None:
        assert not HashingVectorizer(**options).is_compiled

    def test_survive_copies(self) -> None:
        vectorizer = HashingVectorizer(n_features=16, analyzer="char", n_jobs=2)
        for copy in (clone(vectorizer), pickle.loads(pickle.dumps(vectorizer))):
            assert copy.get_params() == vectorizer.get_params()
        theirs = sklearn_text.HashingVectorizer().get_params()
        assert HashingVectorizer().get_params() == theirs | {"n_jobs": None}
