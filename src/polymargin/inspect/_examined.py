"""A model beside the rows it was trained on, each thing worked out when it is first asked for."""

from functools import cached_property
from typing import Any

from scipy import sparse

from polymargin.inspect._held_out import score_held_out
from polymargin.inspect._subject import Scored, find_subject, score_rows
from polymargin.inspect._taus import Taus, make_taus


class Examined:
    """What several tables of one model need: rows are transformed and scored once for all."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
        self.subject = find_subject(model)
        self.X = X
        self.y = y
        self.sample_weight = sample_weight

    @cached_property
    def rows(self) -> Any:
        """The rows as the estimator sees them."""
        rows = self.subject.rows(self.X)
        return sparse.csr_array(rows) if sparse.issparse(rows) else rows

    @cached_property
    def scored(self) -> Scored:
        return score_rows(self.subject, self.rows, self.y)

    @cached_property
    def held_out(self) -> Scored:
        """The rows by models that have not seen them: five fits."""
        return score_held_out(self.subject, self.rows, self.y, self.sample_weight)

    @cached_property
    def taus(self) -> Taus:
        return make_taus(self.subject, self.rows, self.y, self.scored.own, self.sample_weight)

    @property
    def taus_if_any(self) -> Taus | None:
        return self.taus if self.subject.has_duals else None
