"""Prints what a plug-in can be set to."""

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tedaudit.cli.console import console
from tedaudit.registry import variants
from tedaudit.settings import list_settings


def show_settings(plugin: type) -> None:
    """Print every setting with its type, its default and its meaning, and what each variant sets."""
    out, settings = console(), list_settings(plugin)
    if not settings:
        out.print("    It has no settings.")
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for setting in settings:
        kind = f"{setting.type}; {f'default: {setting.default}' if setting.default else 'must be given'}"
        table.add_row(Text(setting.name, "bold"), Text.assemble(f"{setting.meaning}\n", (kind, "dim")))
    out.print(Padding(table, (0, 0, 0, 4)))
    for name, values in variants(plugin).items():
        told = ", ".join(f"{key}={value}" for key, value in values.items())
        out.print(f"    variant={name}: {told}", soft_wrap=True)
