"""Which features speak for and against each class."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from polymargin._wording import counted
from polymargin.errors import require
from polymargin.inspect._subject import Subject, find_subject

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS_SHOWN = 3  # of all that hash to one feature
_HASHED_AT_ONCE = 100_000


def top_features(
    model: Any, n: int = 10, names: Sequence[str] | None = None, *, texts: Any = None
) -> Any:
    """The largest positive and the largest negative weights of each class.

    Parameters
    ----------
    model : LinearSVM, or Pipeline that ends in one
        Fitted. Machines with a kernel have no weights of features.
    n : int, default=10
        How many of either sign for each class; weights of zero are left out.
    names : sequence of str of length d, default=None
        Names of the features. None asks the pipeline and the model for them; what has no name is
        "feature j", counted from 0.
    texts : sequence of str, default=None
        For a pipeline that hashes words: texts whose words explain the features. The most
        frequent words that hash to a feature, up to three, become its name. Where the hash gives
        words a sign, the weight is that of the most frequent word; without texts it is that of
        the feature, which for half of the words is of the other sign.

    Returns
    -------
    features : pandas.DataFrame
        ``label``, ``feature`` (its number from 0), ``name`` and ``weight``: for each class the
        positive weights, largest first, then the negative ones, smallest first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import top_features
    >>> iris = load_iris()
    >>> model = LinearSVM("cs", random_state=0).fit(iris.data, iris.target)
    >>> top_features(model, 1, iris.feature_names)["name"].tolist()[:2]
    ['sepal width (cm)', 'petal length (cm)']
    """
    pandas = require("pandas", extra="inspect", purpose="tables")
    subject = find_subject(model)
    known = find_names(subject, names, texts)
    label, feature, weight = largest_weights(subject, n, known)
    return pandas.DataFrame(
        {
            "label": subject.classes[label],
            "feature": feature,
            "name": known.of(feature),
            "weight": weight,
        }
    )


@dataclass(frozen=True)
class Names:
    """What features are called."""

    listed: Sequence[Any] | None = None  # of all features
    words: dict[int, list[str]] | None = None  # that hash to a feature
    signs: "NDArray[np.float64] | None" = None  # of those words, for all features

    def of(self, features: "NDArray[np.int64]") -> list[str]:
        if self.listed is not None:
            return [str(self.listed[j]) for j in features]
        words = self.words or {}
        return [", ".join(words.get(int(j), [])) or f"feature {j}" for j in features]


def largest_weights(
    subject: Subject, n: int, names: Names
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]":
    """Class, feature and weight of what `top_features` lists."""
    check_linear(subject)
    if n < 1:
        raise ValueError(f"n has to be at least 1, not {n}")
    labels, features, weights = [], [], []
    for c in range(len(subject.classes)):
        indices, values = weights_of(subject, c)
        if names.signs is not None:
            values = values * names.signs[indices]
        for sign in (1.0, -1.0):
            signed = sign * values
            candidates = np.flatnonzero(signed > 0)
            if len(candidates) > n:
                cut = np.argpartition(-signed[candidates], n - 1)[:n]
                candidates = candidates[cut]
            chosen = candidates[np.lexsort((candidates, -signed[candidates]))]
            labels.append(np.full(len(chosen), c))
            features.append(indices[chosen])
            weights.append(values[chosen])
    return (
        np.concatenate(labels).astype(np.int64),
        np.concatenate(features).astype(np.int64),
        np.concatenate(weights).astype(np.float64),
    )


def check_linear(subject: Subject) -> None:
    if not subject.is_linear:
        raise ValueError(
            "a KernelSVM has no weights of features: its scores depend on whole rows. Look at "
            "support_patterns, or fit a LinearSVM."
        )


def weights_of(subject: Subject, c: int) -> "tuple[NDArray[np.int64], NDArray[Any]]":
    """Features and their weights for one class; with sparse weights those that are stored."""
    coef = subject.svm.coef_
    if sparse.issparse(coef):
        part = slice(coef.indptr[c], coef.indptr[c + 1])
        return coef.indices[part].astype(np.int64), coef.data[part]
    return np.arange(coef.shape[1]), coef[c]


def find_names(subject: Subject, names: Sequence[str] | None = None, texts: Any = None) -> Names:
    """The names given, else those of the pipeline or the model, else hashed words."""
    d = subject.svm.n_features_in_
    if names is not None and len(names) != d:
        raise ValueError(f"{counted(len(names), 'name')} for {counted(d, 'feature')} of the model")
    listed = names if names is not None else _known_names(subject, d)
    if listed is not None:
        return Names(listed=listed)
    hashing = _hashing_step(subject, d)
    if hashing is not None and texts is not None:
        return _hashed_words(hashing, texts)
    return Names()


def _known_names(subject: Subject, d: int) -> Any:
    """Names of all d features from the pipeline or the model, None where they have none."""
    if subject.steps is not None:
        if all(hasattr(step, "get_feature_names_out") for _, step in subject.steps.steps):
            return subject.steps.get_feature_names_out()
        for _, step in reversed(subject.steps.steps):
            names = getattr(step, "feature_names_out_", None)
            if names is not None and len(names) == d:
                return names
    return getattr(subject.svm, "feature_names_in_", None)


def _hashing_step(subject: Subject, d: int) -> Any:
    """The step that hashes words into the d features, if there is one."""
    for _, step in [] if subject.steps is None else subject.steps.steps:
        hashes = hasattr(step, "build_analyzer") and not hasattr(step, "vocabulary_")
        if hashes and getattr(step, "n_features", None) == d:
            return step
    return None


def _hashed_words(vectorizer: Any, texts: Iterable[str]) -> Names:
    """The most frequent words of `texts` that hash to each feature with the same sign."""
    analyze = vectorizer.build_analyzer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(analyze(text))
    hasher = FeatureHasher(
        vectorizer.n_features, input_type="string", alternate_sign=vectorizer.alternate_sign
    )
    words = [word for word, _ in counts.most_common()]
    found: dict[int, list[str]] = {}
    signs = np.ones(vectorizer.n_features)
    for first in range(0, len(words), _HASHED_AT_ONCE):
        part = words[first : first + _HASHED_AT_ONCE]
        hashed = hasher.transform([[word] for word in part])
        for word, j, sign in zip(part, hashed.indices.tolist(), hashed.data, strict=True):
            if j not in found:
                found[j], signs[j] = [word], sign
            elif sign == signs[j] and len(found[j]) < _WORDS_SHOWN:
                found[j].append(word)
    return Names(words=found, signs=signs)
