"""All machines on real data, beside scikit-learn's: ``python -m polymargin.demo``."""

from polymargin.demo._entrants import CHOSEN, Entrant, entrants
from polymargin.demo._outcomes import EntrantOutcome, run
from polymargin.demo._same_problem import Judgement, judge
from polymargin.demo._table import outcome_table

__all__ = [
    "CHOSEN",
    "Entrant",
    "EntrantOutcome",
    "Judgement",
    "entrants",
    "judge",
    "outcome_table",
    "run",
]
