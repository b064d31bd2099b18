"""Names beside points, none upon another."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from matplotlib.transforms import Bbox

from polymargin.inspect import INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKER = 5  # points from the middle of a marker to its edge
_DISTANCES = (7, 14, 22, 32, 44, 58)  # points from there to the name
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_HORIZONTAL = {-1: "right", 0: "center", 1: "left"}
_VERTICAL = {-1: "top", 0: "center", 1: "bottom"}


def place_labels(
    figure: "Figure", axes: "Axes", points: Sequence[tuple[float, float, str]]
) -> None:
    """Each name as near to its point (x, y, name) as the others leave room, else far with a line.

    The axes have to have their limits and scales already.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # from here on the axes stay where they are
    pixels = figure.dpi / 72
    centres = axes.transData.transform([(x, y) for x, y, _ in points])
    taken = [_box(centre, (0, 0), (2 * _MARKER * pixels,) * 2) for centre in centres]
    for (x, y, name), centre in zip(points, centres, strict=True):
        label = axes.annotate(name, (x, y), (0, 0), textcoords="offset points", color=INK, size=9)
        extent = label.get_window_extent()
        for distance, direction in product(_DISTANCES, _DIRECTIONS):
            offset = (distance * direction[0], distance * direction[1])
            corner = [c + pixels * o for c, o in zip(centre, offset, strict=True)]
            box = _box(corner, direction, (extent.width, extent.height))
            if _inside(box, axes.bbox) and not any(box.overlaps(other) for other in taken):
                break
        label.set(position=offset, ha=_HORIZONTAL[direction[0]], va=_VERTICAL[direction[1]])
        taken.append(box)
        if distance > _DISTANCES[0]:
            axes.annotate(
                "",
                (x, y),
                offset,
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.6, "shrinkB": 4},
            )


def _box(corner: Sequence[float], direction: Sequence[int], size: Sequence[float]) -> Bbox:
    """A box of that size which starts at the corner and extends in the direction, 0 both ways."""
    low = [c - s * (1 - d) / 2 for c, d, s in zip(corner, direction, size, strict=True)]
    return Bbox.from_bounds(*low, *size)


def _inside(box: Bbox, frame: Bbox) -> bool:
    return bool(
        frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    )
