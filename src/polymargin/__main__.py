"""``python -m polymargin``."""

from polymargin.cli import main

main()
