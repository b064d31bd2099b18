"""What turns columns into numbers and numbers into numbers of like size, stored with the model."""

from polymargin.preprocessing._encoder import ColumnEncoder
from polymargin.preprocessing._hashing import HashingVectorizer
from polymargin.preprocessing._scaler import Scaler

__all__ = ["ColumnEncoder", "HashingVectorizer", "Scaler"]
