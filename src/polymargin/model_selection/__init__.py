"""Choice of machine, C and gamma by nested grid search with cross-validation."""

from polymargin.model_selection._result import GridBorder, GridPoint, GridSearch
from polymargin.model_selection._search import GridBorderWarning, nested_grid_search

__all__ = ["GridBorder", "GridBorderWarning", "GridPoint", "GridSearch", "nested_grid_search"]
