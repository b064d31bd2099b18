"""The command line: ``polymargin`` or ``python -m polymargin``."""

from polymargin.cli._app import app, main

__all__ = ["app", "main"]
