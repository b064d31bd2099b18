"""The grid of a search: which points come next, what is known of them, where it is too short."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from polymargin.model_selection._axes import Axis, Span
from polymargin.model_selection._fits import Chain, Score
from polymargin.model_selection._result import GridBorder, GridPoint, make_point, preference

MOST_STEPS = 10  # by which a grid may grow to each side

_Place = tuple[int, int]  # on the axis of C and on that of gamma, 0 where there is none


class Planned(NamedTuple):
    """A chain, and of each of its C the place in the grid."""

    chain: Chain
    at: list[_Place]


class Grid:
    """The points of all machines; `extend` lets the part of a machine grow beyond the ranges."""

    def __init__(
        self,
        machines: tuple[str, ...],
        axis_C: Axis,
        axis_gamma: Axis | None,
        n_folds: int,
        *,
        extend: bool,
    ) -> None:
        self._axes = (axis_C, axis_gamma)
        self._n_folds = n_folds
        self._extend = extend
        spans = [Span(0, 0) if axis is None else axis.span for axis in self._axes]
        self._spans = {name: list(spans) for name in machines}
        self._points: dict[str, dict[_Place, GridPoint]] = {name: {} for name in machines}
        self.n_fits = 0

    def points(self) -> tuple[GridPoint, ...]:
        """All points by machine, C and gamma."""
        return tuple(point for known in self._points.values() for _, point in sorted(known.items()))

    def ranges(self) -> list[tuple[float, float, float] | None]:
        """Of both axes, as far as the grid of any machine reaches."""
        ranges: list[tuple[float, float, float] | None] = []
        for number, axis in enumerate(self._axes):
            spans = [pair[number] for pair in self._spans.values()]
            widest = Span(min(s.low for s in spans), max(s.high for s in spans))
            ranges.append(None if axis is None else axis.range(widest))
        return ranges

    def plan(self, level: int) -> list[Planned]:
        """The chains of a level, those of one gamma after each other."""
        return self._plan(level, self._points)

    def grow(self, level: int) -> list[Planned]:
        """The chains of the points beyond borders that best points lie on; none at the limit."""
        if not self._extend:
            return []
        grown = [machine for machine in self._points if self._make_room(machine, level)]
        return self._plan(level, grown)

    def borders(self) -> tuple[GridBorder, ...]:
        """The borders that best points lie on."""
        found = []
        for machine in self._points:
            best = self._best(machine)
            for number, upward in self._sides(machine):
                axis = self._axes[number]
                assert axis is not None
                parameter, end = ("C", "gamma")[number], "largest" if upward else "smallest"
                found.append(GridBorder(machine, parameter, end, axis.value(best[number])))
        return tuple(found)

    def _plan(self, level: int, machines: Iterable[str]) -> list[Planned]:
        Cs: dict[tuple[int, str], list[int]] = defaultdict(list)
        for machine in machines:
            for i_C, i_gamma in self._new_places(machine, level):
                Cs[i_gamma, machine].append(i_C)
        axis_C, axis_gamma = self._axes
        planned: list[Planned] = []
        for (i_gamma, machine), indices in sorted(Cs.items()):
            gamma = axis_gamma.value(i_gamma) if axis_gamma else None
            values = tuple(axis_C.value(i) for i in indices)
            # Refinements start anew, so that their points do not depend on growth before.
            start = self._start(machine, i_gamma, indices[0]) if level == 0 else None
            keeps = (values[0], values[-1]) if self._extend and level == 0 else ()
            at = [(i, i_gamma) for i in indices]
            planned += [
                Planned(Chain(machine, gamma, fold, values, start, keeps), at)
                for fold in range(self._n_folds)
            ]
        return planned

    def _new_places(self, machine: str, level: int) -> list[_Place]:
        """Ascending, without those that are known."""
        known = self._points[machine]
        best = self._best(machine) if level else (0, 0)
        axes: list[list[int]] = []
        for axis, span, i in zip(self._axes, self._spans[machine], best, strict=True):
            if axis is None:
                axes.append([0])
            else:
                axes.append(axis.around(i, level, span) if level else axis.coarse(span))
        return [(i, j) for i, j in itertools.product(*axes) if (i, j) not in known]

    def _start(self, machine: str, i_gamma: int, i_C: int) -> float | None:
        """The C of the border that a chain of the coarse grid goes on from."""
        known = [place[0] for place in self._points[machine] if place[1] == i_gamma]
        if not known:
            return None
        return self._axes[0].value(max(known) if i_C > max(known) else min(known))

    def _best(self, machine: str) -> _Place:
        known = self._points[machine]
        return min(known, key=lambda place: preference(known[place]))

    def _sides(self, machine: str) -> list[tuple[int, bool]]:
        """Axis and direction in which the best point is on the border, all inside being worse."""
        known = self._points[machine]
        best = self._best(machine)
        sides = []
        for number, axis in enumerate(self._axes):
            if axis is None or axis.is_fixed:
                continue
            for upward, end in ((False, min), (True, max)):
                border = end(place[number] for place in known)
                inside = [point for place, point in known.items() if place[number] != border]
                is_worse = all(preference(p)[0] > preference(known[best])[0] for p in inside)
                if best[number] == border and is_worse:
                    sides.append((number, upward))
        return sides

    def _make_room(self, machine: str, level: int) -> bool:
        """Whether there are points beyond a border that the best one of a machine lies on."""
        spans, best, found = self._spans[machine], self._best(machine), False
        for number, upward in self._sides(machine):
            axis, span = self._axes[number], spans[number]
            assert axis is not None
            if level and best[number] != (span.high if upward else span.low):
                found = True  # a refinement does not fill a coarse step at once
                continue
            wider = axis.widened(span, upward, MOST_STEPS)
            spans[number] = wider or span
            found = found or wider is not None
        return found

    def add(
        self, level: int, planned: list[Planned], results: Sequence[Sequence[Score | None]]
    ) -> None:
        """Take in the scores of chains, None where a fold was left out."""
        scores: dict[tuple[str, float | None, float, _Place], list[Score | None]]
        scores = defaultdict(list)
        for (chain, at), result in zip(planned, results, strict=True):
            for C, place, score in zip(chain.Cs, at, result, strict=True):
                scores[chain.machine, chain.gamma, C, place].append(score)
        for (machine, gamma, C, place), folds in scores.items():
            known = [score for score in folds if score is not None]
            self.n_fits += len(known)
            self._points[machine][place] = make_point(
                machine,
                C,
                gamma,
                level,
                [None if score is None else score.accuracy for score in folds],
                converged=all(score.converged for score in known),
            )
