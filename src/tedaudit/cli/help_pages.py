"""How help pages look: a word for what each option takes, panels, and examples at the end."""

import inspect
import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from tedaudit.cli.options import OUTPUT

_TAKES = {"int": "NUMBER", "float": "NUMBER", "str": "TEXT", "Path": "PATH", "bool": ""}
_BROKEN = re.compile(r"(?<!\n)\n(?!\n)")  # a line end inside a paragraph


class Command(TyperCommand):
    """A command whose help page says in a word what each option takes, and nothing for a switch."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = _BROKEN.sub(" ", inspect.cleandoc(self.help or ""))

    def get_params(self, ctx: Any) -> Any:
        """Return the options and arguments, each with its word."""
        params = _name_values(super().get_params(ctx))
        params[-1].rich_help_panel = OUTPUT  # --help
        return params


class Group(TyperGroup):
    """A group of commands with the same kind of help page."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options, each with its word."""
        return _name_values(super().get_params(ctx))


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
