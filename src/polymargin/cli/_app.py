"""The application: one command a module."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from polymargin import __version__
from polymargin.cli._exit import explained

_COMMANDS = (
    "train",
    "predict",
    "score",
    "select",
    "path",
    "inspect",
    "convert",
    "info",
    "demo",
)

app = typer.Typer(
    name="polymargin",
    help="All-in-one multi-class support vector machines: fast, exact, certified.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _explained(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with explained():
            command(*arguments, **options)

    return run


for _name in _COMMANDS:
    _module = import_module(f"polymargin.cli.{_name}")
    app.command(_name, epilog=_module.EXAMPLES, no_args_is_help=_name not in ("demo", "info"))(
        _explained(getattr(_module, _name))
    )


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polymargin {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    sys.exit(app())
