"""How help pages look: a word for what each option takes, panels, and examples at the end.

What is typed wrong is told in a line that names the help page.
"""

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from tedaudit.cli.options import OUTPUT
from tedaudit.errors import SpecError

_UsageError = cast("type[Exception]", typer.BadParameter.__base__)  # typer exports no name for it
_TAKES = {"int": "NUMBER", "float": "NUMBER", "str": "TEXT", "Path": "PATH", "bool": ""}
_BROKEN = re.compile(r"(?<!\n)\n(?!\n)")  # a line end inside a paragraph


class Command(TyperCommand):
    """A command whose help page says in a word what each option takes, and nothing for a switch."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = _BROKEN.sub(" ", inspect.cleandoc(self.help or ""))

    def parse_args(self, ctx: Any, args: Any) -> Any:
        """Read what was typed."""
        with _tell_misuse(ctx):
            return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        """Return the options and arguments, each with its word."""
        params = _name_values(super().get_params(ctx))
        params[-1].rich_help_panel = OUTPUT  # --help
        return params


class Group(TyperGroup):
    """A group of commands with the same kind of help page; a mistyped name is told in a line."""

    def parse_args(self, ctx: Any, args: Any) -> Any:
        """Read what was typed before the name of a command."""
        with _tell_misuse(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """Return the command that was typed."""
        with _tell_misuse(ctx):
            return super().resolve_command(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        """Return the options, each with its word."""
        return _name_values(super().get_params(ctx))


@contextmanager
def _tell_misuse(ctx: Any) -> Iterator[None]:
    """Turn an unknown option, a missing argument or a bad value into an error of one line."""
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # nothing was typed: the help page is shown
            raise
        message = cast("typer.BadParameter", error).format_message().replace(": Value error, ", ": ")
        end = "" if message.endswith((".", "?")) else "."
        told = f"{' '.join(message.split())}{end} See `{ctx.command_path} --help`."
        raise SpecError(told) from error


def _name_values(params: Any) -> Any:
    for param in params:
        if param.param_type_name == "option" and param.metavar is None:
            param.metavar = _TAKES.get(param.bare_type())
        elif param.param_type_name == "argument":
            param.display_type_rich = _say_nothing  # its name and its help say enough
    return params


def _say_nothing(ctx: Any) -> None:  # noqa: ARG001
    return None


def end_page(*examples: str) -> str:
    """Return the end of a help page: examples, each a paragraph, which is a line there."""
    return "\n\n".join(["[bold]Examples[/bold]", *(line.replace("[", r"\[") for line in examples)])
