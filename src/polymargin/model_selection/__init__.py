"""Choice of machine, C and gamma by nested grid search with cross-validation."""

from polymargin.model_selection._result import GridPoint, GridSearch
from polymargin.model_selection._search import nested_grid_search

__all__ = ["GridPoint", "GridSearch", "nested_grid_search"]
