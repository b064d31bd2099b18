"""What files of polymargin consist of: a container, typed fields, arrays, parameters, fits.

Nothing here knows an estimator: `files` makes them of what is stored.
"""

from polymargin.storage._arrays import (
    Arrays,
    as_objects,
    put_csr,
    put_labels,
    put_strings,
    take_csr,
    take_labels,
    take_strings,
)
from polymargin.storage._checkpoint_writer import Checkpoint, CheckpointWriter, as_checkpoint
from polymargin.storage._digest import data_hash
from polymargin.storage._document import FORMAT, checked_header, seal_document, write_document
from polymargin.storage._fields import FLOATS, Fields, Tensors, write_number
from polymargin.storage._fits import write_fit
from polymargin.storage._json import write_json
from polymargin.storage._parameters import build, decode_parameters, encode_parameters
from polymargin.storage._safetensors import Container, naming, read_container
from polymargin.storage._training import (
    AUTO_BYTES,
    duals_bytes,
    put_certificate,
    put_duals,
    put_stream,
    take_certificate,
    take_duals,
    take_history,
    take_stream,
)

__all__ = [
    "AUTO_BYTES",
    "FLOATS",
    "FORMAT",
    "Arrays",
    "Checkpoint",
    "CheckpointWriter",
    "Container",
    "Fields",
    "Tensors",
    "as_checkpoint",
    "as_objects",
    "build",
    "checked_header",
    "data_hash",
    "decode_parameters",
    "duals_bytes",
    "encode_parameters",
    "naming",
    "put_certificate",
    "put_csr",
    "put_duals",
    "put_labels",
    "put_stream",
    "put_strings",
    "read_container",
    "seal_document",
    "take_certificate",
    "take_csr",
    "take_duals",
    "take_history",
    "take_labels",
    "take_stream",
    "take_strings",
    "write_document",
    "write_fit",
    "write_json",
    "write_number",
]
