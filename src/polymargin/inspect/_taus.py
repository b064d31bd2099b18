"""tau and eta: the dual variables of single rows in units of their bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin.inspect._subject import Subject

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDING = 1e-4  # in units of the bound
_BLOCK_ENTRIES = 1 << 20  # of dual vectors at a time
_LEAST_ETA = 0.005  # what rounds to 0.00 is not listed


@dataclass(frozen=True)
class Taus:
    """The dual vectors of all rows in units of C_i, and what follows from them."""

    own: "NDArray[np.int64]"
    norm: "NDArray[np.float64]"  # of tau, centred where the machine is zero-sum
    eta: sparse.csr_array  # (n, k) weights of the confusable labels; entries of the own label are 0
    on_own: "NDArray[np.float64]"  # eta of the own label; 0 where the machine has no simplex
    bounded: "NDArray[np.bool_]"

    @property
    def is_support(self) -> "NDArray[np.bool_]":
        support: NDArray[np.bool_] = self.norm > 0
        return support

    @property
    def has_eta(self) -> bool:
        """Whether dual variables belong to other classes at all."""
        return bool(np.any(self.eta.data > 0))


def make_taus(
    subject: Subject, rows: Any, y: Any, own: "NDArray[np.int64]", sample_weight: Any
) -> Taus:
    """tau_i = a_i / C_i of the rows that the model was trained on."""
    duals, upper = _check_duals(subject, rows, y, own, sample_weight)
    machine = subject.machine
    n = len(own)
    norm, on_own, bounded = np.zeros(n), np.zeros(n), np.zeros(n, np.bool_)
    share = np.zeros(len(duals.data))
    for part, entries in _blocks(duals.indptr):
        block = _Block.of(duals, part, entries, own, upper)
        norm[part] = block.norm(machine.zero_sum, duals.shape[1])
        others = block.total(block.beta)
        own_hinge = 0.0 if machine.relative else block.total(np.where(block.is_own, block.tau, 0))
        if machine.simplex:
            used = others + own_hinge
            share[entries] = block.beta
            on_own[part] = np.clip(1.0 - others, 0.0, 1.0)
        else:
            used = np.maximum(
                block.largest(block.beta) / machine.weight_other, own_hinge / machine.weight_own
            )
            share[entries] = block.beta / np.where(others > 0, others, 1.0)[block.i]
        bounded[part] = used >= 1 - _ROUNDING
    eta = sparse.csr_array((share, duals.indices, duals.indptr), shape=duals.shape)
    return Taus(own, norm, eta, on_own, bounded)


@dataclass(frozen=True)
class _Block:
    """Some rows; arrays have one value for each entry of their dual vectors."""

    n: int
    i: "NDArray[np.int64]"  # row of the block
    tau: "NDArray[np.float64]"
    is_own: "NDArray[np.bool_]"
    beta: "NDArray[np.float64]"  # dual variables of other classes in units of C_i

    @classmethod
    def of(
        cls,
        duals: sparse.csr_array,
        part: slice,
        entries: slice,
        own: "NDArray[np.int64]",
        upper: "NDArray[np.float64]",
    ) -> "_Block":
        n = part.stop - part.start
        i = np.repeat(np.arange(n), np.diff(duals.indptr[part.start : part.stop + 1]))
        tau = duals.data[entries] / np.where(upper[part] > 0, upper[part], 1.0)[i]
        is_own = duals.indices[entries] == own[part][i]
        return cls(n, i, tau, is_own, np.where(is_own, 0.0, np.maximum(-tau, 0.0)))

    def total(self, values: "NDArray[Any]") -> "NDArray[np.float64]":
        """Sum over each row."""
        return np.bincount(self.i, values, self.n).astype(np.float64, copy=False)

    def largest(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        found = np.zeros(self.n)
        np.maximum.at(found, self.i, values)
        return found

    def norm(self, zero_sum: bool, k: int) -> "NDArray[np.float64]":
        squares = self.total(self.tau**2)
        if zero_sum:  # of k entries with the mean taken off
            squares = squares - self.total(self.tau) ** 2 / k
        root: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0.0))
        return root


def _blocks(indptr: "NDArray[Any]") -> Iterator[tuple[slice, slice]]:
    """Consecutive rows and their entries, of which there are not many more than a bound."""
    first, n = 0, len(indptr) - 1
    while first < n:
        last = int(np.searchsorted(indptr, indptr[first] + _BLOCK_ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield slice(first, last), slice(int(indptr[first]), int(indptr[last]))
        first = last


def _check_duals(
    subject: Subject, rows: Any, y: Any, own: "NDArray[np.int64]", sample_weight: Any
) -> "tuple[sparse.csr_array, NDArray[np.float64]]":
    """`duals_` and C_i; ValueError where they cannot belong to these rows."""
    if not subject.has_duals:
        raise ValueError(
            "the model has no dual variables: it was trained by partial_fit or stored without "
            "them. Fit it, or store it with duals=True; by='margin' needs none."
        )
    duals = sparse.csr_array(subject.svm.duals_)
    if duals.shape[0] != len(own):
        raise ValueError(
            f"the model was trained on {duals.shape[0]} rows, X has {len(own)}: support patterns "
            "are found among the training rows, all of them in their order"
        )
    upper = np.asarray(subject.svm._upper(rows, np.asarray(y), sample_weight), np.float64)
    if np.any(np.isinf(upper)):  # a hard margin is that of any C that no row comes near to
        enough = 2 * float(np.abs(duals).sum(axis=1).max(initial=0.0))
        upper = np.where(np.isinf(upper), enough, upper)
    for part, entries in _blocks(duals.indptr):
        block = _Block.of(duals, part, entries, own, upper)
        foreign = np.where(block.is_own, block.tau, -block.tau) < -_ROUNDING
        if np.any(foreign):
            raise ValueError(
                "y is not what the model was trained on: the dual variables of row "
                f"{part.start + block.i[np.argmax(foreign)]} belong to another label. Pass the "
                "training labels in their order."
            )
    if np.any((own < 0) & (upper > 0)):
        row = int(np.argmax((own < 0) & (upper > 0)))
        raise ValueError(f"the model does not know the label of row {row}: {np.asarray(y)[row]!r}")
    return duals, upper


def eta_pairs(taus: Taus, i: int) -> list[tuple[int, float]]:
    """Labels that row i is confusable with, its own where it has a part, largest weight first."""
    part = slice(taus.eta.indptr[i], taus.eta.indptr[i + 1])
    weights = zip(taus.eta.indices[part].tolist(), taus.eta.data[part].tolist(), strict=True)
    pairs = [(c, weight) for c, weight in weights if weight > 0]
    if taus.on_own[i] > 0 and pairs:
        pairs.append((int(taus.own[i]), float(taus.on_own[i])))
    pairs.sort(key=lambda pair: (-round(pair[1], 6), pair[0]))
    return [(c, weight) for c, weight in pairs if weight >= _LEAST_ETA]


def eta_texts(taus: Taus, classes: "NDArray[Any]", rows: "NDArray[np.int64]") -> list[str]:
    """The pairs of each row as "label: weight"."""
    return [
        ", ".join(f"{classes[c]}: {weight:.2f}" for c, weight in eta_pairs(taus, int(i)))
        for i in rows
    ]
