"""Models and checkpoints in files; nothing in a file is ever run.

`save` and `load` write and read all of a fitted model, also of a pipeline. `save_liblinear`,
`load_liblinear` and `save_onnx` are for other programs.
"""

from polymargin.files._info import ModelInfo, read_info
from polymargin.files._liblinear import load_liblinear, save_liblinear
from polymargin.files._model import load, save
from polymargin.files._onnx import save_onnx
from polymargin.files._open import describe, load_with_info
from polymargin.files._stored_fit import StoredFit, read_checkpoint, resume, write_checkpoint
from polymargin.storage import data_hash

__all__ = [
    "ModelInfo",
    "StoredFit",
    "data_hash",
    "describe",
    "load",
    "load_liblinear",
    "load_with_info",
    "read_checkpoint",
    "read_info",
    "resume",
    "save",
    "save_liblinear",
    "save_onnx",
    "write_checkpoint",
]
