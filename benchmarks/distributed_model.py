"""Seconds of a pass by the number of processes, on paper: work from measured constants, and a line.

Of n rows with e entries, d features and k classes, P processes together work

    rows dealt     a n   + (b n + c e) k     + m X P d k       X exchanges of all weights in a pass,
    mean weights   a n P + (b n + c e) k     + m X d k         X exchanges of their mean,
    leagues        (2P - 1) (a n + (b n + c e) k / P + m d k)  rounds, all weights once in each,

seconds in a pass: a for a visit, b for a class in it, c for a class of an entry, m for a weight
that is copied, told or added up. Each kind of deal has constants of its own, since its visits
differ. On a cluster of as many machines as processes each has its share of that; then comes what is
sent, at ``BANDWIDTH`` and ``LATENCY``: sums over all by halves, leagues from one to the other, with
a message to each other process in a round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

BANDWIDTH = 1.25e9  # bytes a second in either direction: 10 Gbit/s
LATENCY = 30e-6  # of a message, seconds
POSTED = 5e-6  # of a message among many, seconds
MEANS = 10  # exchanges in a pass
ROWS_MOST = 4
GAIN = 0.9  # a doubling of the processes pays where no more of the time is left


@dataclass(frozen=True)
class Shape:
    """What is fitted; weights and rows are in single precision."""

    n: int
    d: int
    k: int
    entries: int


@dataclass(frozen=True)
class Costs:
    """Seconds of a visit, of a class in it, of a class of an entry, of a weight."""

    visit: float
    row: float
    entry: float
    weight: float

    @classmethod
    def fitted(cls, solver: str, measured: Iterable[tuple[Shape, int, float]]) -> Costs:
        """Those that come nearest to seconds of all processes, relatively."""
        rows, ones = [], []
        for shape, processes, seconds in measured:
            rows.append(terms(solver, shape, processes) / seconds)
            ones.append(1.0)
        return cls(*map(float, nnls(np.array(rows), np.array(ones))[0]))

    def work(self, solver: str, shape: Shape, processes: int) -> float:
        """Seconds of all processes together in a pass."""
        constants = np.array([self.visit, self.row, self.entry, self.weight])
        return float(terms(solver, shape, processes) @ constants)


def exchanges_of_rows(shape: Shape, processes: int) -> int:
    """Of all weights in a pass: fewer where they take long beside the visits."""
    by_work = shape.entries // (8 * processes * (shape.d + 1))
    by_rows = shape.n // (64 * processes)
    return int(min(max(min(by_work, by_rows), 1), ROWS_MOST))


def terms(solver: str, shape: Shape, processes: int) -> np.ndarray:
    """How often each of the costs comes in a pass of all processes."""
    n, k, P, weights = shape.n, shape.k, processes, shape.d * shape.k
    entries = shape.entries
    if solver == "local-descent":
        exchanged = exchanges_of_rows(shape, P) * P * weights if P > 1 else 0
        return np.array([n, n * k, entries * k, exchanged], float)
    if solver == "mean-weights":
        return np.array([n * P, n * k, entries * k, MEANS * weights], float)
    return (2 * P - 1) * np.array([n, n * k / P, entries * k / P, weights], float)


def network(solver: str, shape: Shape, processes: int, bytes_of_weight: float = 4.0) -> float:
    """Seconds in a pass to send what is sent; of a weight in leagues that travel, so many bytes."""
    P, steps = processes, 2 * math.ceil(math.log2(processes)) if processes > 1 else 0
    if P == 1:
        return 0.0

    def sum_over_all(size: float) -> float:
        return 2 * (P - 1) / P * size / BANDWIDTH + steps * LATENCY

    if solver == "local-descent":
        return exchanges_of_rows(shape, P) * sum_over_all(4.0 * shape.d * shape.k)
    if solver == "mean-weights":
        return MEANS * sum_over_all(8.0 * shape.d)
    league = bytes_of_weight * shape.d * shape.k / (2 * P)
    moved = league * (2 * P - 2) / P  # by a process in a round
    return (2 * P - 1) * (moved / BANDWIDTH + steps * LATENCY + (P - 1) * POSTED)


def moves(processes: int) -> int:
    """How often a league goes from one process to another in a tournament."""
    return (2 * processes - 1) * (2 * processes - 2)


def seconds(
    solver: str, costs: Costs, shape: Shape, processes: int, bytes_of_weight: float
) -> float:
    """Of a pass on a cluster of as many machines."""
    share = costs.work(solver, shape, processes) / processes
    return share + network(solver, shape, processes, bytes_of_weight)


def most_processes(solver: str, shape: Shape) -> int:
    """For which there is something to do."""
    if solver == "local-descent":
        return shape.n
    return shape.k if solver == "mean-weights" else shape.k // 2


def pays_until(solver: str, costs: Costs, shape: Shape, bytes_of_weight: float) -> int:
    """The last doubling of the processes, from two on, that saves a tenth of the time."""
    processes = 2
    before = seconds(solver, costs, shape, processes, bytes_of_weight)
    while 2 * processes <= most_processes(solver, shape):
        now = seconds(solver, costs, shape, 2 * processes, bytes_of_weight)
        if now > GAIN * before:
            break
        processes, before = 2 * processes, now
    return processes
