"""``python -m benchmarks.corpora lshtc-large``: make a corpus once, say what it is like."""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.corpora.generator import PARTS
from benchmarks.corpora.shapes import PRESETS
from benchmarks.corpora.store import corpus, ensure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "presets", nargs="+", choices=PRESETS, metavar="PRESET", help=", ".join(PRESETS)
    )
    for preset in parser.parse_args().presets:
        start = time.perf_counter()
        folder = ensure(preset)
        print(f"{preset}: {time.perf_counter() - start:.1f} s, {folder}")
        for part in PARTS:
            X, y = corpus(preset, part)
            n, d = X.shape
            print(
                f"  {part:5}  {n} rows x {d} features, {len(np.unique(y))} classes, "
                f"{X.nnz} non-zeros, {X.nnz / n:.1f} a row"
            )


if __name__ == "__main__":
    main()
