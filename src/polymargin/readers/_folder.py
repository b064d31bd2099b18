"""Texts in the files of a folder: a folder for each class, or files without labels."""

import os
import stat
from collections.abc import Callable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from polymargin.errors import DataError
from polymargin.readers._encodings import is_utf_8
from polymargin.readers._formats import without_packing
from polymargin.readers._labels import label_kind_of, labels_from_texts
from polymargin.readers._mails import is_mail, mail_text
from polymargin.readers._options import Options
from polymargin.readers._source import Source
from polymargin.readers._table import Table

__all__ = ["Folder", "folder_batches"]

LONGEST_TEXT = 1 << 26  # bytes


class _Text(NamedTuple):
    file: str
    shown: str  # its name below the folder
    label: str | None


class Folder:
    """The files of a folder, in the order of their names; hidden ones do not count.

    Parameters
    ----------
    path : str or path-like
        The folder. Its files are texts without labels; or it holds a folder for each class, named
        as its label, whose files are the texts.
    encoding : str, default="utf-8"
        That of the texts.
    """

    def __init__(self, path: str | PathLike[str], encoding: str = "utf-8") -> None:
        self.encoding = encoding
        self.path = self.name = fspath(path)
        files, folders = _entries(self.path)
        if files and folders:
            raise DataError(
                "a file beside the folders of classes; put it into one of them, or take it away",
                path=files[0].path,
            )
        self.texts = [_Text(file.path, _shown(file.name), None) for file in files]
        self.labels = [_label(folder) for folder in folders]
        for folder, label in zip(folders, self.labels, strict=True):
            self.texts.extend(_texts_of_class(folder, label))
        if not self.texts:
            raise DataError("there are no files in the folder", path=self.path)

    def close(self) -> None:
        """Nothing is open between files."""


def folder_batches(folder: Folder, rows: int | None, options: Options) -> Iterator[Table]:
    """Tables of at most `rows` texts, or one of all."""
    if options.takes_own_labels and not folder.labels:
        raise DataError(
            "there are no labels: put the files into a folder for each class, named as its label, "
            "or say that there are none",
            path=folder.path,
        )
    kind = options.label_kind
    if kind is None and folder.labels:
        occurring = sorted({text.label for text in folder.texts if text.label is not None})
        kind = label_kind_of(labels_from_texts(occurring, occurring, None, _complain(folder.texts)))
    rows = rows or len(folder.texts)
    for start in range(0, len(folder.texts), rows):
        yield _table(folder.texts[start : start + rows], kind, folder.encoding)


def _table(texts: list[_Text], kind: str | None, encoding: str) -> Table:
    reading: dict[str, Any] = {"format": "folder"}
    if kind is not None:
        reading["label_kind"] = kind
    labels = [text.label for text in texts if text.label is not None]
    y = None
    if labels:
        y = labels_from_texts(labels, list(dict.fromkeys(labels)), kind, _complain(texts))
    files = tuple(text.shown for text in texts)
    return Table([_content(text.file, encoding) for text in texts], y, reading, files=files)


def _complain(texts: list[_Text]) -> Callable[[int, str], DataError]:
    return lambda row, message: DataError(message, path=str(Path(texts[row].file).parent))


def _entries(path: str) -> tuple[list["os.DirEntry[str]"], list["os.DirEntry[str]"]]:
    """Files and folders that are not hidden, each sorted by name; links count as what they name."""
    files: list[os.DirEntry[str]] = []
    folders: list[os.DirEntry[str]] = []
    with os.scandir(path) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        try:
            mode = entry.stat().st_mode
        except OSError as error:  # such as a link to nothing, or to itself
            raise DataError(error.strerror or str(error), path=entry.path) from error
        if stat.S_ISDIR(mode):
            folders.append(entry)
        elif stat.S_ISREG(mode):
            files.append(entry)
        else:
            raise DataError("neither a file nor a folder; take it away", path=entry.path)
    return files, folders


def _texts_of_class(folder: "os.DirEntry[str]", label: str) -> Iterator[_Text]:
    files, folders = _entries(folder.path)
    if folders:
        raise DataError(
            "a folder inside that of a class, whose files have to lie in it directly",
            path=folders[0].path,
        )
    for file in files:
        yield _Text(file.path, f"{_shown(folder.name)}/{_shown(file.name)}", label)


def _label(folder: "os.DirEntry[str]") -> str:
    try:
        folder.name.encode()
    except UnicodeEncodeError as error:
        raise DataError("the name is not UTF-8; rename the folder", path=folder.path) from error
    return folder.name


def _shown(name: str) -> str:
    """A name of a file, which may be any bytes, for people."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _content(file: str, encoding: str) -> str:
    if Path(file).stat().st_size == 0:
        return ""
    with Source(file) as source:
        content = _bytes_at_once(source)
    if content is not None and is_mail(without_packing(file), content):
        try:
            return mail_text(content, encoding)
        except RecursionError as error:
            raise DataError("too many parts inside each other", path=file) from error
    text = None if content is None or not is_utf_8(encoding) else _as_text(content)
    if text is None:
        with Source(file, encoding=encoding) as source:
            text = _text_by_lines(source)
    return text


def _bytes_at_once(source: Source) -> bytes | None:
    """The whole content; None where it is long."""
    blocks: list[bytes] = []
    size = 0
    for block in source.blocks():
        blocks.append(block)
        size += len(block)
        if size > LONGEST_TEXT:
            return None
    return b"".join(blocks)


def _as_text(content: bytes) -> str | None:
    """None where something is wrong with it."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _text_by_lines(source: Source) -> str:
    """The same, with the place of what is wrong."""
    lines: list[str] = []
    size = 0
    for line in source.text_lines():
        lines.append(line)
        size += len(line)
        if size > LONGEST_TEXT:
            raise DataError(
                f"the text is longer than {LONGEST_TEXT} characters; is this one text?",
                path=source.path,
            )
    return "".join(lines)
