"""Mails as they are sent: what a person would read of them.

A file is a mail if its name ends in ``.eml``, or if it begins with the header of one: up to the
first empty line there are only fields, ``Name: value``, and lines that go on with one; From is
among them, and one of Date, Subject, Message-ID, Received and MIME-Version. A first line
``From ...``, as mailboxes have it, does not count.

Of a mail the sender, the subject and the texts are read, base64 and quoted-printable decoded;
attachments are not. Of a text that comes both plain and as HTML the plain one is read, else HTML
without its tags. The other fields tell of the way of a mail, and not what it says.
"""

import codecs
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from html import unescape
from typing import Any

__all__ = ["is_mail", "mail_text"]

_FIELD = re.compile(rb"([!-9;-~]+):")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_OTHERS = frozenset({b"date", b"subject", b"message-id", b"received", b"mime-version"})
_SHOWN = ("From", "Subject")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
# What is not closed goes on to the end.
_UNSEEN = re.compile(
    r"<(script|style|title)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|</?[a-z!?][^<>]*(?:>|\Z|(?=<))",
    re.IGNORECASE | re.DOTALL,
)


def is_mail(name: str, content: bytes) -> bool:
    """Whether a file of this name, in small letters, and of this content is a mail."""
    return name.endswith(".eml") or _begins_with_header(content)


def _begins_with_header(content: bytes) -> bool:
    end = _HEADER_END.search(content)
    if end is None:
        return False
    lines = content[: end.start()].splitlines()
    names: set[bytes] = set()
    for place, line in enumerate(lines[content.startswith(b"From ") :]):
        if place and line[:1] in (b" ", b"\t"):
            continue
        field = _FIELD.match(line)
        if field is None:
            return False
        names.add(field[1].lower())
    return b"from" in names and bool(names & _OTHERS)


def mail_text(content: bytes, encoding: str) -> str:
    """What is to be read of a mail; `encoding` is that of parts that name none.

    RecursionError where parts lie too deep inside each other.
    """
    message = message_from_bytes(content, policy=policy.compat32)
    fields = [f"{name}: {_decoded(message[name], encoding)}\n" for name in _SHOWN if message[name]]
    text = "".join(fields) + "\n" + "\n".join(_texts(message, encoding))
    return _NO_TEXT.sub("\ufffd", text)


def _decoded(value: Any, encoding: str) -> str:
    """The value of a field, whose words may be encoded."""
    try:
        words = decode_header(value)
    except HeaderParseError:
        return str(value)
    text = "".join(
        word if isinstance(word, str) else _decode(word, charset, encoding)
        for word, charset in words
    )
    return " ".join(text.split())


def _texts(part: "Message[str, str]", encoding: str) -> Iterator[str]:
    """The texts of a part of a mail, and of those inside of it."""
    if part.is_multipart():
        inside: Any = part.get_payload()
        is_choice = part.get_content_type() == "multipart/alternative"
        for other in _best(inside) if is_choice else inside:
            yield from _texts(other, encoding)
        return
    if part.get_content_maintype() != "text" or part.get_content_disposition() == "attachment":
        return
    content: Any = part.get_payload(decode=True)
    text = _decode(content, _charset_of(part), encoding)
    yield _without_tags(text) if part.get_content_subtype() == "html" else text


def _charset_of(part: "Message[str, str]") -> str | None:
    try:
        return part.get_content_charset()
    except ValueError:  # no name at all
        return None


def _best(parts: list[Any]) -> list[Any]:
    """The plain one of several forms of one text, or the first."""
    plain = [part for part in parts if part.get_content_type() == "text/plain"]
    return (plain or parts)[:1]


def _decode(content: bytes, charset: str | None, encoding: str) -> str:
    """As text; what cannot be decoded is marked, as mail programs show it."""
    try:
        codecs.lookup(charset or "")
    except (LookupError, ValueError):
        charset = None
    try:
        return content.decode(charset or encoding, "replace")
    except (LookupError, ValueError):  # a codec that makes no text
        return content.decode(encoding, "replace")


def _without_tags(html: str) -> str:
    """What a browser would show, in one line."""
    return " ".join(unescape(_UNSEEN.sub(" ", html)).split())
