"""The application: one command a module."""

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from polymargin import __version__
from polymargin.cli._console import complain, note, prepare_streams
from polymargin.cli._exit import Exit, explained, interrupted
from polymargin.cli._groups import grouped
from polymargin.cli._signals import orderly_termination
from polymargin.cli._writing import writing

_COMMANDS = (
    "train",
    "predict",
    "score",
    "select",
    "path",
    "inspect",
    "bench",
    "convert",
    "info",
    "demo",
)

# Typer has Click's classes under one name or another; all that it says of options derives from it.
_UsageError: Any = typer.BadParameter.__base__

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
            try:
                command(*arguments, **options)
            finally:
                with writing("standard output"):
                    sys.stdout.flush()

    return run


for _name in _COMMANDS:
    _module = import_module(f"polymargin.cli.{_name}")
    app.command(_name, epilog=_module.EXAMPLES, no_args_is_help=_name not in ("demo", "info"))(
        _explained(grouped(getattr(_module, _name)))
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


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    prepare_streams()
    with orderly_termination(), explained():
        try:
            code = app(args=arguments, prog_name="polymargin", standalone_mode=False)
        except _UsageError as error:
            sys.exit(_refuse(error))
        except typer.Abort:
            complain("interrupted")
            sys.exit(interrupted())
        sys.exit(code if isinstance(code, int) else Exit.DONE)


def _refuse(error: Any) -> Exit:
    """Say what is wrong with the options; nothing at all given is answered with the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return Exit.USAGE
    complain(error.format_message())
    if error.ctx is not None:
        note(f"{error.ctx.command_path} --help tells more")
    return Exit.USAGE
