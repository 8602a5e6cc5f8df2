"""The models behind the results: every report says which checkpoint a number comes from."""

from collections.abc import Mapping, Sequence

from tedaudit.reports.writers.markdown import markdown_table

_HEADINGS = ("used by", "model", "checksum", "of")


def models_section(models: Sequence[Mapping[str, str]]) -> str:
    """Return the models as a section of Markdown; empty if no model is behind the results."""
    if not models:
        return ""
    rows = [(model["used_by"], model["model"], model["checksum"], model["part"]) for model in models]
    return f"## Models\n\n{markdown_table(_HEADINGS, rows)}\n\n"
