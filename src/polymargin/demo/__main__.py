"""``python -m polymargin.demo`` is ``polymargin demo``."""

import sys

from polymargin.cli import main

main(["demo", *sys.argv[1:]])
