"""The application: one command a module, imported when it is asked for."""

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from polymargin.cli._codes import Exit
from polymargin.cli._exit import explained, interrupted
from polymargin.cli._groups import grouped
from polymargin.cli._output.files import writing
from polymargin.cli._output.terminal import complain, note, prepare_streams
from polymargin.cli._signals import orderly_termination

COMMANDS = {
    "train": "Train a model and write it to a file.",
    "predict": "Write the predicted label of each row, one a line.",
    "score": "Predict labelled rows and count what is right.",
    "select": "Choose machine, C and gamma by cross-validation on nested grids.",
    "path": "Train linear models for many values of C, each from the one before.",
    "inspect": "Find suspicious labels and confusable classes; write a report.",
    "bench": "Time machines on a file, beside scikit-learn's.",
    "convert": "Turn a model or a data file into another format.",
    "info": "Show what a model file says of itself; without one, the versions in use.",
    "demo": "Train our machines and scikit-learn's on bundled data, print a table, draw a picture.",
}
_WORK_ALONE = ("demo", "info")  # all others show their help where nothing is given
_LOOK: dict[str, Any] = {"rich_markup_mode": "rich", "pretty_exceptions_enable": False}

# Typer has Click's classes under one name or another; all that it says of options derives from it.
_UsageError: Any = typer.BadParameter.__base__


class _Help:
    """Shows no type of value for options that take none."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_Help, TyperCommand):
    """A command with its options."""


class _Commands(_Help, TyperGroup):
    """Knows names and helps of the commands; what is to run or to complete is loaded."""

    # Typer would end an interrupt before and after the command itself without a word.

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with explained():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with explained():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, known, rest = super().resolve_command(ctx, args)
        return name, known if name is None else load_command(name), rest


app = typer.Typer(
    name="polymargin",
    cls=_Commands,
    help="All-in-one multi-class support vector machines: fast, exact, certified.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **_LOOK,
)


def _in_its_module() -> None:
    """A command that is listed, but not loaded yet."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_in_its_module)


def load_command(name: str) -> Any:
    """The command of that name with all its options, from its module."""
    with explained():
        module = import_module(f"polymargin.cli.{name}")
    alone = typer.Typer(add_completion=False, **_LOOK)
    alone.command(
        name, cls=_Command, epilog=module.EXAMPLES, no_args_is_help=name not in _WORK_ALONE
    )(_explained(grouped(getattr(module, name))))
    return get_command(alone)


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


def _show_version(wanted: bool) -> None:
    if wanted:
        from polymargin import __version__

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


def run(arguments: Sequence[str] | None) -> NoReturn:
    """Run the command that the arguments name, and leave with its exit code."""
    prepare_streams()
    with explained(), orderly_termination():
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
