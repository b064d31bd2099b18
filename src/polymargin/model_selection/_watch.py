"""A look at a fit under way: whether to go on with it."""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.fit import DualState

_LOOSE = 0.03  # gap from which predictions are about those of the optimum
_LONG = 15.0  # passes that make a fit long enough for a look to pay


class Verdict(Enum):
    """What to do with a fit under way."""

    GO_ON = "it is needed now"
    POSTPONE = "it may be needed later"
    GIVE_UP = "it will not be needed"


class EndedEarlyError(Exception):
    """The fit has ended early."""

    def __init__(self, verdict: Verdict, state: "DualState", predicted: "NDArray[Any]") -> None:
        super().__init__(verdict.value)
        self.verdict, self.state, self.predicted = verdict, state, predicted


class Watch:
    """Looks at a fit once, when its gap is small and it has taken long."""

    def __init__(
        self,
        predict: "Callable[[DualState], NDArray[Any]]",
        judge: "Callable[[NDArray[Any]], Verdict]",
    ) -> None:
        self._predict, self._judge = predict, judge
        self._has_looked = False

    def is_due(self) -> bool:
        return not self._has_looked

    def keep(self, state: "DualState", history: "NDArray[Any]") -> None:
        last = history[-1]
        if not last["gap"] <= _LOOSE or last["epoch"] < _LONG:
            return
        self._has_looked = True
        predicted = self._predict(state)
        verdict = self._judge(predicted)
        if verdict is not Verdict.GO_ON:
            raise EndedEarlyError(verdict, state, predicted)
