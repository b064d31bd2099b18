"""Linear machines on data that is larger than memory."""

from polymargin.streams._fit import SHUFFLE_SIZE, Batches, fit_stream
from polymargin.streams._order import SortedStreamWarning

__all__ = ["SHUFFLE_SIZE", "Batches", "SortedStreamWarning", "fit_stream"]
