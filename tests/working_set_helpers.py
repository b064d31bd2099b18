"""What the tests of working sets share: examples that answer by a script."""

from collections.abc import Callable, Iterable
from itertools import chain, repeat
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polymargin import Blocks
from polymargin.fit._interrupts import Interrupts
from polymargin.fit._progress import Check
from polymargin.kernel._device import Checked
from polymargin.kernel._goal import Goal
from polymargin.kernel._working_sets import WorkingSets

Floats = NDArray[np.float64]


def checked(
    violations: Any, gap: float = 0.5, *, gaps: Any = None, violation: float = 1.0
) -> Checked:
    """What a check finds: a primal objective of 1 and this relative gap."""
    found = np.asarray(violations, float)
    return Checked(found if gaps is None else np.asarray(gaps, float), found, 1, 1 - gap, violation)


class Script:
    """Examples of which checks find one after the other, the last one for ever."""

    def __init__(
        self,
        found: Iterable[Checked],
        *,
        pays: bool = False,
        negative: float | None = None,
        visits: int | None = None,
    ) -> None:
        found = list(found)
        self._found = chain(found, repeat(found[-1]))
        self._pays = pays
        self._negative = negative
        self._visits = visits
        self._active: NDArray[np.int64] | None = None
        self.calls: list[tuple[Any, ...]] = []

    def check(self) -> Checked:
        now = next(self._found)
        if self._active is None:
            return now
        return now._replace(gaps=now.gaps[self._active], violations=now.violations[self._active])

    def improve(self, examples: NDArray[np.int64], fraction: float, passes: int) -> int:
        self.calls.append(("improve", examples.tolist(), fraction, passes))
        return len(examples) if self._visits is None else self._visits

    def refresh(self) -> None:
        self.calls.append(("refresh",))

    def pays_to_shrink(self, n_active: int) -> bool:
        self.calls.append(("pays", n_active))
        return self._pays

    def shrink(self, active: NDArray[np.int64]) -> None:
        self.calls.append(("shrink", active.tolist()))
        self._active = active

    def grow(self) -> None:
        self.calls.append(("grow",))
        self._active = None

    def duals(self) -> Any:
        return "duals"

    def find_negative(self, examples: NDArray[np.int64]) -> float | None:
        self.calls.append(("negative", examples.tolist()))
        return self._negative

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [rest for word, *rest in self.calls if word == name]  # type: ignore[misc]

    @property
    def sets(self) -> list[list[int]]:
        return [examples for examples, *_ in self.called("improve")]


def make_loop(examples: Script, n: int, size: int, **given: Any) -> WorkingSets:
    goal = Goal(given.pop("tol", 1e-3), given.pop("max_iter", 1000), given.pop("by_gap", True))
    rest = {"is_positive": True, "precision": 1e-16, "is_warm": False} | given
    options = Blocks(size=size, fraction=rest.pop("fraction", 0.1), passes=rest.pop("passes", 20))
    return WorkingSets(cast(Any, examples), goal, options, (n, 3), **rest)


def run(
    loop: WorkingSets,
    on_check: Callable[[Check], bool] = lambda check: False,
    keeper: Any = None,
    interrupts: Any = None,
) -> list[Check]:
    loop.run(interrupts or Interrupts(), on_check, keeper)
    return loop.progress.history
