"""Text from data, made fit to be shown."""

import re
from typing import Any

# What XML and HTML do not allow: controls but for tab and new line, halves of surrogate pairs, and
# the two that are no characters. U+2028 and U+2029 end lines in scripts of old.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")


def visible(value: Any) -> str:
    """`value` as text that every file and every page can hold.

    Controls become their pictures (U+2400 and on), what is no character becomes U+FFFD.

    Examples
    --------
    >>> from polymargin.inspect._text import visible
    >>> visible("bell\\x07")
    'bell␇'
    """
    text = _CONTROL.sub(_picture, str(value).replace("\r\n", "\n"))
    return _NO_CHARACTER.sub("\ufffd", text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return " " if code > 0xFF else "\ufffd"
