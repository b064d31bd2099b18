"""JSON as model files use it: no repeated keys, no NaN, no lone surrogates, bounded depth."""

import json
from collections import Counter
from typing import Any

from polymargin.errors import ModelFileError

_MOST_DEPTH = 32  # of objects and lists in each other


def read_json(text: str, what: str) -> Any:
    """The value of `text`; `what` names it in messages."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
        _check_depth(value)
        if "\\u" in text:  # only so can half a character be written
            write_json(value).encode()
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deeply") from None
    except UnicodeEncodeError:
        raise ModelFileError(f"{what} holds text that is not valid Unicode") from None
    except ModelFileError as error:
        raise ModelFileError(f"{what} {error}") from None
    except ValueError as error:  # of the syntax, or an integer of too many digits
        raise ModelFileError(f"{what} is not valid JSON: {error}") from None
    return value


def write_json(value: Any) -> str:
    """The shortest text, the same for equal values."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(_MOST_DEPTH):
        inner = [item.values() if isinstance(item, dict) else item for item in level]
        level = [part for items in inner for part in items if isinstance(part, (dict, list))]
        if not level:
            return
    raise RecursionError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = counts.most_common(1)[0][0]
        raise ModelFileError(f"has the key {repeated[:100]!r} twice")
    return found


def _constant(name: str) -> Any:
    raise ModelFileError(f"holds {name}, which is not JSON")
