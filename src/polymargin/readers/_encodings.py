"""Text in other encodings, as UTF-8."""

import codecs
from collections.abc import Iterator

from polymargin.errors import DataError

__all__ = ["MARK_SIZE", "as_utf_8", "is_utf_8", "marked_encoding", "remedy_for_byte",
           "remedy_for_zero"]  # fmt: skip

_MARKS = {  # a mark may be the start of a later one
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}
MARK_SIZE = max(map(len, _MARKS))
_SHOWN = 20  # bytes on either side


def is_utf_8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, by whatever name; ValueError where there is none such."""
    try:
        b" ".decode(encoding, "ignore")
        return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"encoding={encoding!r}: there is no such encoding of text; use a name such as "
            "'windows-1252', 'latin-1' or 'utf-16'"
        ) from error


def marked_encoding(start: bytes) -> str | None:
    """What a byte order mark tells; None where there is none."""
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)


def as_utf_8(blocks: Iterator[bytes], encoding: str, path: str) -> Iterator[bytes]:
    """The same text as UTF-8; an error where bytes are not of the encoding, after all before."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines = 0
    n_characters = 0  # of the last line, as far as it was read
    for block, is_last in _with_end(blocks):
        state = decoder.getstate()
        failure: UnicodeError | None = None
        try:
            text = decoder.decode(block, is_last)
        except UnicodeDecodeError as error:
            failure = error
            decoder.setstate(state)
            text = decoder.decode(block[: max(0, error.start - len(state[0]))])
        except UnicodeError as error:
            failure, text = error, ""
        n_new = text.count("\n")
        n_lines += n_new
        n_characters = len(text) - text.rfind("\n") - 1 + (0 if n_new else n_characters)
        if text:
            yield text.encode("utf-8", "surrogatepass")
        if failure is not None:
            message = _explain(failure, encoding)
            raise DataError(message, path=path, line=n_lines + 1, column=n_characters + 1)


def _with_end(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    for block in blocks:
        yield block, False
    yield b"", True


def _explain(error: UnicodeError, encoding: str) -> str:
    if isinstance(error, UnicodeDecodeError):
        byte = f"byte {error.object[error.start]:#04x}"
        return f"{byte} is not {encoding}; name the encoding of the file with encoding="
    return (
        f"{error}; where this is {encoding} without a byte order mark, name the order of its "
        f"bytes: encoding='{encoding}-le' or encoding='{encoding}-be'"
    )


def remedy_for_byte(line: bytes, place: int) -> str:
    """What to do with a line that is not UTF-8, from a byte on."""
    part = line[max(0, place - _SHOWN) : place + _SHOWN]
    try:
        encoding, text = "windows-1252", part.decode("windows-1252")
    except UnicodeDecodeError:
        encoding, text = "latin-1", part.decode("latin-1")
    return (
        f"name the encoding of the file, perhaps encoding={encoding!r}: then this is "
        f"{text.strip()!r}"
    )


def remedy_for_zero(line: bytes) -> str:
    """What to do with a line that has zero bytes, which text of two bytes a character may have."""
    for order, zeros in (("utf-16-le", line[1::2]), ("utf-16-be", line[::2])):
        if zeros.count(0) > len(zeros) // 2:
            return f"if this is a text file, name its encoding: encoding={order!r}"
    return "is this a text file?"
