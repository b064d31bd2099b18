"""Second-order steps on the dual problem of any machine, for linear and for kernel machines."""

from polymargin.second_order._cost import MOST_VARIABLES, count_rows, guess_cost, predict_cost
from polymargin.second_order._low_rank import LowRank, find_low_rank
from polymargin.second_order._multiple import best_multiple
from polymargin.second_order._proximal import Finish, Start, aim_below, finish, first_sigma
from polymargin.second_order._space import KernelSpace, RowSpace, Space
from polymargin.second_order._splitting import can_split, split, split_cost
from polymargin.second_order._variables import Variables, to_array, to_duals

__all__ = [
    "MOST_VARIABLES",
    "Finish",
    "KernelSpace",
    "LowRank",
    "RowSpace",
    "Space",
    "Start",
    "Variables",
    "aim_below",
    "best_multiple",
    "can_split",
    "count_rows",
    "find_low_rank",
    "finish",
    "first_sigma",
    "guess_cost",
    "predict_cost",
    "split",
    "split_cost",
    "to_array",
    "to_duals",
]
