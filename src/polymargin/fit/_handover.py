"""When descent hands over to second-order steps: counted in operations, never read from a clock.

The fall of the gap over the second half of its passes says what descent still needs. It stops
where that is more passes than it has left after a tenth of them, and still some passes later, or
later, up to four fifths, as long as the passes are a hundredth of what the steps will take; or
where it has spent a part of what the second-order steps are predicted to take and needs more than
all of it.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polymargin.fit._progress import Check

_CHANCE = 0.25  # part of the predicted operations
FEWEST = 20  # passes that tell a rate
_LATE, _LATEST = 0.1, 0.8  # parts of `max_iter` before which a slow start is no sign
_CHEAP = 0.01  # part of the predicted operations, for which passes may be waited for


@dataclass
class Handover:
    """Watches the checks of a fit by descent."""

    pass_cost: float  # operations of a pass over all examples
    finish_cost: float  # of all second-order steps, as predicted
    tol: float
    max_iter: int
    asked: bool = False
    not_before: float = 0.0  # passes
    slows: bool = False  # the gap falls like a power of the passes, else at a rate
    _slow_since: float = math.inf  # passes; the primal swings, so that one check says little
    _epochs: list[float] = field(default_factory=list)
    _gaps: list[float] = field(default_factory=list)

    def __call__(self, check: "Check") -> bool:
        """Whether descent is to stop."""
        self._epochs.append(check.epoch)
        self._gaps.append(check.gap)
        if check.gap > self.tol and check.epoch >= max(FEWEST, self.not_before):
            passes = self.passes_to_go()
            cost = passes * self.pass_cost
            had_chance = check.epoch * self.pass_cost >= _CHANCE * self.finish_cost
            is_late = check.epoch >= self._late * self.max_iter
            is_slow = is_late and check.epoch + passes > self.max_iter
            self._slow_since = min(self._slow_since, check.epoch) if is_slow else math.inf
            is_too_slow = check.epoch >= self._slow_since + FEWEST
            if is_too_slow or (had_chance and cost > self.finish_cost):
                self.asked = True  # and stays so: a last check may look better
        return self.asked

    @property
    def _late(self) -> float:
        """Part of `max_iter`."""
        of_all_passes = self.finish_cost / max(self.pass_cost * self.max_iter, 1.0)
        return min(max(_LATE, _CHEAP * of_all_passes), _LATEST)

    def refuse(self) -> None:
        """The steps were not taken, or gave up: descent is not to ask again for as long as it has.

        By then it may stand better, with fewer free variables.
        """
        self.asked, self.not_before = False, 2 * self._epochs[-1]

    def passes_to_go(self) -> float:
        """What descent needs to `tol` at its present rate."""
        return passes_to_go(self._epochs, self._gaps, self.tol, self.slows)


def passes_to_go(epochs: list[float], gaps: list[float], tol: float, slows: bool = False) -> float:
    """Passes from the last of these gaps to `tol`, at the rate of the second half of all passes.

    Where descent slows down, it is the rate over their logarithm that is steady.
    """
    epoch, gap = epochs[-1], gaps[-1]
    half = bisect_right(epochs, epoch / 2) - 1
    since, before = (epochs[half], gaps[half]) if half >= 0 else (0.0, 1.0)
    if not 0 < gap < before:
        return math.inf
    if slows and since > 0:
        power = math.log(before / gap) / math.log(epoch / since)
        return epoch * math.expm1(min(math.log(gap / tol) / power, 50.0)) if tol > 0 else math.inf
    rate = math.log(before / gap) / (epoch - since)
    return math.log(gap / tol) / rate if tol > 0 else math.inf
