"""All machines on real data, beside scikit-learn's: ``python -m polymargin.demo``."""

from polymargin.demo._entrants import CHOSEN, Entrant, entrants
from polymargin.demo._outcomes import Outcome, run
from polymargin.demo._same_problem import Judgement, judge
from polymargin.demo._table import outcome_table

__all__ = ["CHOSEN", "Entrant", "Judgement", "Outcome", "entrants", "judge", "outcome_table", "run"]
