"""Small pictures as data addresses, without a picture library."""

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GREY, _RGBA = 0, 6  # colour types of PNG
_FOR, _AGAINST = (11, 110, 153), (200, 85, 61)


def grey_picture(pixels: Any, low: float, high: float) -> str:
    """Data address of a picture: `low` white, `high` black."""
    span = high - low if high > low else 1.0
    ink = np.clip((np.asarray(pixels, np.float64) - low) / span, 0.0, 1.0)
    return _address(np.rint(255 * (1 - ink)).astype(np.uint8)[:, :, None], _GREY)


def signed_picture(pixels: Any) -> str:
    """Data address of a picture: blue above zero, orange below, zero transparent."""
    values = np.asarray(pixels, np.float64)
    largest = float(np.abs(values).max()) or 1.0
    image = np.empty((*values.shape, 4), np.uint8)
    image[:, :, :3] = np.where(values[:, :, None] > 0, _FOR, _AGAINST)
    image[:, :, 3] = np.rint(255 * np.abs(values) / largest)
    return _address(image, _RGBA)


def _address(image: "NDArray[np.uint8]", colour_type: int) -> str:
    height, width, _ = image.shape
    lines = b"".join(b"\0" + line.tobytes() for line in image)  # each with filter 0
    head = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
