"""Linear machines on data that is larger than memory."""

from polymargin.streams._fit import Batches, fit_stream

__all__ = ["Batches", "fit_stream"]
