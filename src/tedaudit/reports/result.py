"""The result of an audit as the Python API returns it: data that shows itself."""

from dataclasses import dataclass, fields, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from tedaudit.errors import SpecError, join_names
from tedaudit.plugins.extras import require
from tedaudit.reports.first_screen import write_screen
from tedaudit.results.findings import AuditResult
from tedaudit.results.summary import NO_FINDINGS, headlines
from tedaudit.results.telling_audit import explain_table, plans, tell_plans

if TYPE_CHECKING:
    import polars as pl

Library = Literal["polars", "pandas"]


@dataclass(frozen=True, slots=True)
class Result(AuditResult):
    """All findings of a run, as frames, as a figure, and as a notebook shows them."""

    @classmethod
    def of(cls, result: AuditResult) -> "Result":
        """Return the same result with these views."""
        if isinstance(result, cls):
            return result
        return cls(**{field.name: getattr(result, field.name) for field in fields(result)})

    def to_frame(self, library: Library = "polars") -> "pl.DataFrame | Any":
        """Return one row per plan, mechanism, epsilon and attack.

        `lower` is eps_emp, `ceiling` the most that it could have been. With library="pandas", which must be
        installed, it is a frame of pandas.
        """
        from tedaudit.reports.export.frames import frame_rows

        return _convert(frame_rows(self), library)

    def trials(self, *, texts: bool = False, library: Library = "polars") -> "pl.DataFrame | Any":
        """Return one row per trial and attack: which candidate was the secret, and which one was named.

        No text of the corpus is in it unless `texts` asks for source, rewrite and guess, which are private.
        """
        from tedaudit.reports.export.frames import frame_trials

        return _convert(frame_trials(self, texts=texts), library)

    def losses(self, library: Library = "polars") -> "pl.DataFrame | Any":
        """Return what an adversary that knows the mechanism learns, one row per setting and delta.

        It has no row if no attack of the run knows likelihoods.
        """
        from tedaudit.reports.export.frames import frame_losses

        return _convert(frame_losses(self), library)

    def plot(self, plan: str | None = None) -> Any:
        """Return a matplotlib figure of eps_emp against nominal epsilon, one panel per attack.

        A run with several plans has a figure for each: name one.
        """
        from tedaudit.reports.figures import figure

        require("`plot`", "matplotlib")
        known = plans(self)
        if not known:
            raise SpecError(f"{NO_FINDINGS} {self.unfinished}".strip())
        if plan is None and len(known) > 1:
            raise SpecError(f"The run has {len(known)} plans; name one: {join_names(known)}.")
        chosen = known[0] if plan is None else plan
        if chosen not in known:
            raise SpecError(f"There is no plan '{chosen}'. There are: {join_names(known)}.")
        drawn = figure([finding for finding in self if finding.plan == chosen])
        drawn._repr_png_ = lambda: _to_png(drawn)  # a notebook shows it without pyplot
        return drawn

    def __str__(self) -> str:
        return write_screen(self)

    def _repr_html_(self) -> str:
        from tedaudit.reports.writers.html import write_section

        if not self.findings:
            return f"<p>{escape(f'{NO_FINDINGS} {self.unfinished}')}</p>"
        told = "".join(f"<li>{escape(headline)}</li>" for headline in headlines(self))
        sections = tell_plans(self, ceilings=True)
        named = (replace(section, title=f"{self.name}: {section.title}") for section in sections)
        tables = "".join(map(write_section, named))
        return f"<div><ul>{told}</ul>{tables}<p><small>{escape(explain_table(self))}</small></p></div>"


def _convert(frame: "pl.DataFrame", library: Library) -> Any:
    from tedaudit.reports.export.frames import to_pandas

    if library not in ("polars", "pandas"):
        raise SpecError(f"library is '{library}'; it is 'polars' or 'pandas'.")
    return frame if library == "polars" else to_pandas(frame)


def _to_png(drawn: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
