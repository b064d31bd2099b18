"""One of the files by hand, in a process of its own: the accuracy, where there is a test file."""

import sys
from pathlib import Path

from brought import case


def main(name: str, train: str, *tests: str) -> None:
    score = case(name).by_hand(Path(train))
    for test in tests:
        print(score(Path(test)))


if __name__ == "__main__":
    main(*sys.argv[1:])
