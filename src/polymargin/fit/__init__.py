"""From what the user passes to a result of the core."""

from polymargin.fit._callbacks import CallbackSupportMixin, FitTask
from polymargin.fit._descent import LinearOutcome, with_options
from polymargin.fit._handover import Handover
from polymargin.fit._hard_margin import HardMargin, Stage
from polymargin.fit._interrupts import Interrupts, held_interrupts
from polymargin.fit._linear import Monitor, Run, make_options, solve_linear
from polymargin.fit._outcome import Outcome, warn_not_converged
from polymargin.fit._past import Past
from polymargin.fit._problem import Problem, join_problems, make_problem
from polymargin.fit._progress import RECORD, Check, open_display
from polymargin.fit._random import RandomSource, draw_seed
from polymargin.fit._scores import score_with
from polymargin.fit._sparse import as_coef, take_rows
from polymargin.fit._state import (
    DualState,
    Keeper,
    ProblemKeeper,
    as_csr,
    duals_of_classes,
    find_start,
    from_csr,
    join_classes,
    join_duals,
    restrict_duals,
    scale_duals,
)
from polymargin.fit._stream import StreamEngine, check_no_calibration, check_stream
from polymargin.fit._validation import (
    apply_class_weight,
    as_rows,
    check_features,
    check_finite,
    check_finite_norms,
    check_kernel,
    check_row_norms,
    check_sample_weight,
    check_scores,
    check_square,
    check_symmetric,
    check_X,
)

__all__ = [
    "RECORD",
    "CallbackSupportMixin",
    "Check",
    "DualState",
    "FitTask",
    "Handover",
    "HardMargin",
    "Interrupts",
    "Keeper",
    "LinearOutcome",
    "Monitor",
    "Outcome",
    "Past",
    "Problem",
    "ProblemKeeper",
    "RandomSource",
    "Run",
    "Stage",
    "StreamEngine",
    "apply_class_weight",
    "as_coef",
    "as_csr",
    "as_rows",
    "check_X",
    "check_features",
    "check_finite",
    "check_finite_norms",
    "check_kernel",
    "check_no_calibration",
    "check_row_norms",
    "check_sample_weight",
    "check_scores",
    "check_square",
    "check_stream",
    "check_symmetric",
    "draw_seed",
    "duals_of_classes",
    "find_start",
    "from_csr",
    "held_interrupts",
    "join_classes",
    "join_duals",
    "join_problems",
    "make_options",
    "make_problem",
    "open_display",
    "restrict_duals",
    "scale_duals",
    "score_with",
    "solve_linear",
    "take_rows",
    "warn_not_converged",
    "with_options",
]
