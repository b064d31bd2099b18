"""Fuzzing of model files: hostile files are refused, never more and never something else.

``python tests/fuzz/fuzz_models.py -max_total_time=300`` mutates the golden models, with atheris to
guide it; options are those of libFuzzer. A file that breaks the rule is put into
``tests/fuzz/corpus/models``, which the tests replay. Mutations sign the file again, so that they
get past the digests; see `mutated`.
"""

import copy
import hashlib
import inspect
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from polymargin.errors import ModelFileError
from polymargin.files import load, read_checkpoint, read_info

TESTS = Path(__file__).resolve().parents[1]
CORPUS = TESTS / "fuzz" / "corpus" / "models"
SIZES = {"F64": 8, "F32": 4, "I64": 8, "I32": 4, "U8": 1, "F16": 2, "BOOL": 1}

Tensor = tuple[str, list[int], bytes]  # type, shape, content

ODD_VALUES = (
    None, True, False, 0, 1, -1, 2, 3, 5, 2**31, 2**63, -(2**63), 10**400, 0.0, -1.5, 1e308, "",
    "nan", "inf", "auto", "ww", "rbf", "precomputed", "sparse", "dense", "str", "object", "int8",
    "float32", "LinearSVM", "KernelSVM", "Pipeline", "os.system", "(((", "filename", "\x00",
    "\ud800", [], [[]], {}, [1, 0], [99, 0], {"tuple": [1, 1]}, {"tuple": [1, 10**9]},
    {"pairs": [[0, 1.0]]}, {"pairs": [[[], 1]]}, {"number": "inf"}, {"dtype": "float64"},
    {"dtype": "O"}, {"options": "Bisection", "fields": {"tol": -1}},
    {"options": "S2DO", "fields": {}}, {"options": "system", "fields": {}},
)  # fmt: skip
ODD_NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, math.nan, math.inf, -math.inf)


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Document and tensors of a valid file."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    document = json.loads(header.pop("__metadata__")["polymargin"])
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = (entry["dtype"], entry["shape"], content[first:last])
    return document, tensors


def packed(document: Any, tensors: dict[str, Tensor]) -> bytes:
    """A file with valid digests, whatever is in it."""
    directory, end = {}, 0
    for name in sorted(tensors, key=lambda name: (-SIZES[tensors[name][0]], name)):
        code, shape, data = tensors[name]
        directory[name] = {"dtype": code, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    digest = hashlib.blake2b(_text(directory).encode("utf-8", "surrogatepass"), digest_size=32)
    for name in sorted(tensors):
        digest.update(tensors[name][2])
    if isinstance(document, dict):
        document = document | {"tensors": digest.hexdigest()}
    text = _text(document)
    signed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
    metadata = {"polymargin": text, "polymargin.digest": signed}
    header = json.dumps({"__metadata__": metadata} | directory).encode()
    header += b" " * (-len(header) % 8)
    parts = [tensors[name][2] for name in directory]
    return b"".join([len(header).to_bytes(8, "little"), header, *parts])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class Choices:
    """Decisions made by bytes; zeros when they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def below(self, count: int) -> int:
        value = 0
        for _ in range(1 if count <= 256 else 4):
            value = 256 * value + (self._data[self._at] if self._at < len(self._data) else 0)
            self._at += 1
        return value % max(count, 1)

    def of(self, items: Any) -> Any:
        return items[self.below(len(items))]

    @property
    def are_left(self) -> bool:
        return self._at < len(self._data)


def mutated(content: bytes, data: bytes) -> bytes:
    """A valid file changed as `data` decides: its bytes, its document or its tensors."""
    choices = Choices(data)
    if choices.below(4) == 0:
        return _mutate_bytes(content, choices)
    document, tensors = unpacked(content)
    for _ in range(1 + choices.below(3)):
        if choices.below(2) == 0:
            _mutate_document(document, choices)
        else:
            _mutate_tensors(tensors, choices)
    return packed(document, tensors)


def _mutate_bytes(content: bytes, choices: Choices) -> bytes:
    changed = bytearray(content)
    for _ in range(1 + choices.below(4)):
        at = choices.below(len(changed) + 1)
        match choices.below(4):
            case 0:
                changed[at : at + 1] = bytes([choices.below(256)])
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = bytes([choices.below(256)] * (1 + choices.below(9)))
            case _:
                del changed[at : at + 1 + choices.below(9)]
    return bytes(changed)


def _mutate_document(document: Any, choices: Choices) -> None:
    """Change, remove or add a value somewhere inside."""
    place = document
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = choices.of(keys)
        if isinstance(place[key], (dict, list)) and place[key] and choices.below(4):
            place = place[key]
            continue
        match choices.below(4):
            case 0:
                del place[key]
            case 1 if isinstance(place, dict):
                place[choices.of(("name", "class", "stream", "duals", "x"))] = place[key]
            case 2 if isinstance(place[key], int):
                place[key] += choices.of((1, -1, 1000))
            case _:
                place[key] = copy.deepcopy(choices.of(ODD_VALUES))
        return


def _mutate_tensors(tensors: dict[str, Tensor], choices: Choices) -> None:
    name = choices.of(sorted(tensors))
    code, shape, data = tensors[name]
    match choices.below(6):
        case 0:
            del tensors[name]
        case 1:
            tensors[choices.of(sorted(tensors))] = (code, shape, data)
        case 2:
            code = choices.of(sorted(SIZES))
            count = len(data) // SIZES[code]
            tensors[name] = (code, [count], data[: count * SIZES[code]])
        case 3:
            tensors[name] = (code, choices.of(([], [0], [-1], [2**62], [1, 1], shape[::-1])), data)
        case 4 if data:
            changed = bytearray(data)
            changed[choices.below(len(changed))] = choices.below(256)
            tensors[name] = (code, shape, bytes(changed))
        case _ if data:
            types = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
            items = np.frombuffer(data, types.get(code, "u1")).copy()
            at = choices.below(len(items))
            if items.dtype.kind == "f":
                items[at] = choices.of(ODD_NUMBERS)
            else:
                items[at] = choices.of((0, 1, 2, 100, np.iinfo(items.dtype).max))
            tensors[name] = (code, shape, items.tobytes())
        case _:
            tensors[name] = (code, [1], b"\0" * SIZES[code])


def check(file: Path) -> str:
    """Read a file in all ways; any error but those allowed comes out. What happened in a word."""
    outcome = "refused"
    for read in (load, read_info, read_checkpoint):
        try:
            found = read(file)
        except ModelFileError as error:
            if str(file) not in str(error) or len(str(error)) > 2000:
                raise AssertionError("not a message for people") from error
            continue
        outcome = "read"
        if read is load:
            _use(found)
    return outcome


def _use(model: Any) -> None:
    """Scores of a loaded model exist, or the rows are refused in words."""
    steps = getattr(model, "steps", [("", model)])
    first = steps[0][1]
    d = getattr(first, "n_features_in_", None)
    if hasattr(first, "names_"):
        return  # named columns
    rows: Any = ["the cat sat", "löwe"] if d is None else np.ones((2, min(d, 10**5)))
    try:
        with np.errstate(all="ignore"):
            scores = model.decision_function(rows)
    except ValueError:
        return
    assert len(scores) == 2
    assert len(model.predict(rows)) == 2
    assert getattr(steps[-1][1], "duals_", np.zeros((1, 1))).ndim == 2


def bases() -> list[bytes]:
    """The valid files that mutations start from."""
    return [path.read_bytes() for path in sorted((TESTS / "golden").glob("*.safetensors"))]


def watch(atheris: Any) -> None:
    """Let atheris see which branches of the package are taken."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith("polymargin.files"):
            for function in vars(module).values():
                if inspect.isfunction(function) and function.__module__ == name:
                    atheris.instrument_func(function)


def main() -> None:
    import atheris

    watch(atheris)
    files = bases()
    folder = Path(tempfile.mkdtemp(prefix="fuzz_models."))

    def test_one_input(data: bytes) -> None:
        content = mutated(files[(data[0] if data else 0) % len(files)], data[1:])
        file = folder / "model.safetensors"
        file.write_bytes(content)
        try:
            check(file)
        except BaseException:
            name = hashlib.sha256(content).hexdigest()[:16]
            (CORPUS / f"{name}.safetensors").write_bytes(content)
            raise

    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
