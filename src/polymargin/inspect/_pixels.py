"""Arrays of pixels as pictures that can stand inside a page."""

import base64
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.errors import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FOR, _AGAINST = (11, 110, 153), (200, 85, 61)


def grey_picture(pixels: Any, low: float, high: float) -> str:
    """Data address of a picture: `low` white, `high` black."""
    span = high - low if high > low else 1.0
    ink = np.clip((np.asarray(pixels, np.float64) - low) / span, 0.0, 1.0)
    return _address(np.rint(255 * (1 - ink)).astype(np.uint8))


def signed_picture(pixels: Any) -> str:
    """Data address of a picture: blue above zero, orange below, zero transparent."""
    values = np.asarray(pixels, np.float64)
    largest = float(np.abs(values).max()) or 1.0
    image = np.empty((*values.shape, 4), np.uint8)
    image[:, :, :3] = np.where(values[:, :, None] > 0, _FOR, _AGAINST)
    image[:, :, 3] = np.rint(255 * np.abs(values) / largest)
    return _address(image)


def _address(image: "NDArray[np.uint8]") -> str:
    """Of a PNG, grey from two axes and with transparency from four colours."""
    pillow = require("PIL.Image", extra="inspect", purpose="pictures")
    file = io.BytesIO()
    pillow.fromarray(image).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
