"""The bound on the risk of a multi-class machine of Doğan, Glasmachers and Igel (2011, section 5).

A multi-class error is an error of one of the binary functions h_c - h_e. Each pair of classes is
bounded by its own margin violations, pairs are weighed by how often their examples occur, and the
sum over all pairs bounds the risk. With l = n examples, l_ce of them of the classes c and e, the
target margin gamma, violations z_i,c = [gamma - h_y(x_i) + h_c(x_i)]_+ for c != y and
||z_ce||_1 their sum over the examples of c (against e) and of e (against c),

    risk  <=  sum_{c < e}  (l_ce / l + sqrt((ln k(k-1) - ln delta) / (2 l)))  eps_ce            (6)

    eps_ce  =  2 / l_ce  ( (fat + 64 D^2)  log2(65 l_ce (1 + D)^3)  log2(9 e l_ce (1 + D))
                           + log2(128 l_ce^1.5 (b - a) / (delta' eta)) )
    D  =  2 (sqrt(||z_ce||_1 (b - a)) + eta) / gamma,      delta' = 2 delta / (k (k - 1))

with probability 1 - delta. Ignoring logarithms it is of the order of

    (k (k - 1) fat + ||z||_1 / gamma^2) / l                                                     (7)

The text lacks some roots: only with that in D is D^2 of the order of ||z||_1 / gamma^2, as (7)
says. [a, b] is the range of the differences and fat their fat-shattering dimension at gamma / 16;
for vectors of norm at most B on points of norm at most R the range is [-B R, B R] and
fat <= (16 B R / gamma)^2 (Bartlett and Shawe-Taylor 1999).
"""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin._wording import counted
from polymargin.fit import as_rows, check_X
from polymargin.inspect._subject import Subject, blocks_of_scores, find_subject, label_indices
from polymargin.kernel import IndefiniteKernelWarning, PrecomputedKernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Bound:
    """What a bound on the risk is made of, and its value.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        Examples of each class.
    violations : ndarray of shape (k, k)
        Sum of the margin violations of each pair of classes: examples of c against e and of e
        against c. Symmetric, zeros on the diagonal.
    violation : float
        Sum over all pairs, ‖z‖₁. At a margin of 1 this is the loss of the Weston-Watkins machine.
    norm : float
        Largest norm of a difference of two weight vectors, bias included. NaN, and with it `fat`,
        `order` and `risk`, where the kernel is not positive semi-definite.
    radius : float
        Largest norm of an example in feature space, 1 added to its square with a bias.
    fat : float
        Bound on the fat-shattering dimension of the differences at a sixteenth of the margin,
        (16 norm radius / margin)².
    order : float
        Eq. (7): (k (k - 1) fat + violation / margin²) / n.
    risk : float
        Eq. (6). NaN where the margin is not below the range of the differences, 2 norm radius: it
        is not proved there. Infinite where a pair of classes has no examples.
    """

    counts: "NDArray[np.int64]"
    violations: "NDArray[np.float64]"
    violation: float
    norm: float
    radius: float
    fat: float
    order: float
    risk: float


def bound(
    model: Any, X: Any, y: Any, *, margin: float = 1.0, delta: float = 0.05, eta: float = 1.0
) -> Bound:
    """Margin violations and complexity that bound the risk, after Doğan et al. (2011).

    Their eq. (6) bounds the probability of an error, eq. (7) is its order without logarithms and
    constants. The theorem is about functions whose norm is bounded beforehand; norm and radius are
    those of the model and its data here, so take the figures to compare models of the same data
    and not as a guarantee. On real data `risk` is far above 1.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline that ends in one
        Fitted; dual variables are not needed.
    X, y : rows and labels
        The training data; with a precomputed kernel the matrix given to `fit`. Each row counts
        once, whatever its weight.
    margin : float, default=1.0
        The target margin gamma.
    delta : float, default=0.05
        Probability with which the bound may fail.
    eta : float, default=1.0
        Scale of the output range, a free constant of the theorem.

    Returns
    -------
    bound : Bound
        Both values and their parts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.inspect import bound
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [LinearSVM("ww", C, random_state=0).fit(X, y) for C in (0.01, 1.0)]
    >>> loose, tight = (bound(model, X, y) for model in models)
    >>> loose.violation > tight.violation, loose.fat < tight.fat
    (True, True)
    """
    for name, value in {"margin": margin, "delta": delta, "eta": eta}.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} has to be positive and finite, not {value!r}")
    if delta >= 1:
        raise ValueError(f"delta is a probability below 1, not {delta!r}")
    subject = find_subject(model)
    rows = subject.rows(X)
    own = label_indices(subject.classes, y)
    if len(own) != rows.shape[0]:
        raise ValueError(
            f"X has {counted(rows.shape[0], 'row')}, y has {counted(len(own), 'label')}"
        )
    if len(own) == 0:
        raise ValueError("a bound needs at least one row")
    if np.any(own < 0):
        row = int(np.argmax(own < 0))
        label = np.asarray(y)[row].item()
        raise ValueError(f"the model does not know the label of row {row}: {label!r}")
    if subject.is_precomputed and rows.shape[0] != rows.shape[1]:
        raise ValueError(
            f"the kernel of all pairs of training rows is needed, not one of shape {rows.shape}"
        )
    k, n = len(subject.classes), len(own)
    counts = np.bincount(own, minlength=k)
    violations = _violations(subject, rows, own, margin)
    violation = float(violations.sum() / 2)
    checked = check_X(subject.svm, rows, reset=False, dtype=_dtype(subject))
    norm, radius = _norm(subject, checked), _radius(subject, checked)
    if math.isnan(norm):
        warnings.warn(
            "The kernel is not positive semi-definite: differences of weight vectors have no norm, "
            "and there is no bound. Violations hold as they are.",
            IndefiniteKernelWarning,
            stacklevel=2,
        )
    fat = (16 * norm * radius / margin) ** 2
    return Bound(
        counts=counts,
        violations=violations,
        violation=violation,
        norm=norm,
        radius=radius,
        fat=fat,
        order=(k * (k - 1) * fat + violation / margin**2) / n,
        risk=_risk(counts, violations, fat, 2 * norm * radius, margin, delta, eta),
    )


def _violations(
    subject: Subject, rows: Any, own: "NDArray[np.int64]", margin: float
) -> "NDArray[np.float64]":
    """Sums of [margin - f_y + f_c]_+ for each pair of classes."""
    k = len(subject.classes)
    of_class = np.zeros((k, k))  # by the own class, then the other one
    for part, scores in blocks_of_scores(subject, rows):
        labels = own[part]
        scores = scores.astype(np.float64, copy=False)
        own_scores = np.take_along_axis(scores, labels[:, None], axis=1)
        np.add.at(of_class, labels, np.maximum(margin - own_scores + scores, 0))
    np.fill_diagonal(of_class, 0)
    return of_class + of_class.T


def _dtype(subject: Subject) -> "np.dtype[Any]":
    dtype: np.dtype[Any] = (
        subject.svm.coef_ if subject.is_linear else subject.svm.dual_coef_
    ).dtype
    return dtype


def _norm(subject: Subject, rows: Any) -> float:
    """Largest distance of two weight vectors; NaN with a kernel that is indefinite."""
    products = _weight_products(subject, rows)
    squares = np.diag(products)
    distances = squares[:, None] + squares - 2 * products
    has_gap = subject.is_linear or not math.isnan(getattr(subject.svm, "dual_gap_", 0.0))
    if not has_gap or float(np.min(distances)) < -1e-5 * float(np.max(np.abs(products))):
        return math.nan
    return math.sqrt(max(float(np.max(distances)), 0.0))


def _weight_products(subject: Subject, rows: Any) -> "NDArray[np.float64]":
    """Inner products of the weight vectors of all classes, bias included."""
    svm = subject.svm
    if subject.is_linear:
        weights = svm.coef_.astype(np.float64)
        products = weights @ weights.T
        products = products.toarray() if hasattr(products, "toarray") else products
        intercept = svm.intercept_.astype(np.float64)
        return np.asarray(products + np.outer(intercept, intercept))
    # w_c = sum_i a_ic phi(x_i), so that <w_c, w_e> = sum_i a_ic f_e(x_i)
    patterns = rows[svm.support_] if subject.is_precomputed else svm.support_vectors_
    scores = svm._scores_of(patterns, 1)(slice(0, patterns.shape[0]))
    return np.asarray(svm.dual_coef_.astype(np.float64) @ scores)


def _radius(subject: Subject, rows: Any) -> float:
    """Largest norm of a row in feature space."""
    svm = subject.svm
    if subject.is_linear:
        return math.sqrt(float(np.max(as_rows(rows).squared_norms())) + bool(svm.fit_intercept))
    kernel = svm._kernel
    if subject.is_precomputed:
        kernel = PrecomputedKernel(rows, bias=bool(svm.fit_intercept))
    return math.sqrt(max(float(kernel.diagonal(kernel.prepare(rows)).max()), 0.0))


def _risk(
    counts: "NDArray[np.int64]",
    violations: "NDArray[np.float64]",
    fat: float,
    width: float,
    margin: float,
    delta: float,
    eta: float,
) -> float:
    """Eq. (6), with `width` for b - a."""
    if not margin < width:
        return math.nan
    k, n = len(counts), int(counts.sum())
    pairs = np.triu_indices(k, 1)
    pair_counts = counts[pairs[0]] + counts[pairs[1]]
    if np.any(pair_counts == 0):
        return math.inf
    D = 2 * (np.sqrt(violations[pairs] * width) + eta) / margin
    pair_delta = 2 * delta / (k * (k - 1))
    logarithms = np.log2(65 * pair_counts * (1 + D) ** 3)
    logarithms *= np.log2(9 * math.e * pair_counts * (1 + D))
    confidence = np.log2(128 * pair_counts**1.5 * width / (pair_delta * eta))
    pair_risk = 2 / pair_counts * ((fat + 64 * D**2) * logarithms + confidence)
    deviation = math.sqrt((math.log(k * (k - 1)) - math.log(delta)) / (2 * n))
    return float(((pair_counts / n + deviation) * pair_risk).sum())
