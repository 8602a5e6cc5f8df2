"""What a reader must know of how a run was made before believing its numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tedaudit.errors import join_names
from tedaudit.results.family import Family
from tedaudit.results.finding import Finding


def note_practice(tables: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield, from what tables of guesses say of themselves, on which texts attacks practised."""
    sentences = {}
    for about in tables:
        if about.get("resampled"):
            continue
        if about.get("own_rewrites"):
            sentences[about["attack"], _describe_practice(about.get("practice"))] = about["own_rewrites"]
    for (attack, texts), rewrites in sentences.items():
        yield f"{attack} practised on {rewrites:,} rewrites for each mechanism and epsilon, {texts}"


def note_resampling(tables: Iterable[tuple[Mapping[str, Any], int]]) -> Iterator[str]:
    """Yield how many rewrites of the candidates attacks were given, from tables and the real numbers."""
    sentences = {}
    for about, made in tables:
        if about.get("resampled"):
            sentences[
                f"{about['attack']} was given rewrites of the candidates, made with keys of its own: "
                f"at most {about['resampled']['most']:,} of each, of {about['resampled']['texts']:,} texts "
                f"(plan {about['plan']}), {made:,} in all for {about['label']} at each epsilon"
            ] = True
    yield from sentences


def _describe_practice(practice: Mapping[str, Any] | None) -> str:
    if practice is None:
        return "of texts that this run has not recorded"
    if practice["splits"]:
        splits = join_names(practice["splits"])
        return f"of {practice['texts']:,} texts that are no candidates (split {splits})"
    return (
        f"of {practice['texts']:,} texts of the candidate pool itself, with keys of its own: the corpus has "
        "too few other texts"
    )


def note_repeats(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield which functions gave other outputs when they were called again on the same texts."""
    for label, found in manifest.get("repeats", {}).items():
        if not found["differing"]:
            continue
        outcome = f"{label}: {found['differing']} of {found['calls']} outputs differed when called again with"
        if found["seeded"]:
            yield (
                f"{outcome} the same text and seed: it is not repeatable, but keeps state between calls or "
                "draws noise from elsewhere; bounds assume that no call depends on another"
            )
        else:
            yield (
                f"{outcome} the same text: it takes neither `seed` nor `draw_key`, so its own noise cannot "
                "be told from state between calls; bounds assume that no call depends on another"
            )


def note_elsewhere(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield which mechanisms rewrote on another machine, and what of it was made again here."""
    for label, found in manifest.get("elsewhere", {}).items():
        made = f"{label}: rewrites come from {found['files']:,} files of work that were done elsewhere"
        if not found["unrepeated"]:
            yield f"{made}; up to eight draws of each were made again here"
        else:
            yield (
                f"{made}; {found['unrepeated']:,} of these were not repeated here, so that this run vouches "
                "for them no more than whoever did the work"
            )


def note_latents(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield of which mechanisms latents were not kept, and what became of draws that were made again."""
    for label, found in manifest.get("latents", {}).items():
        if found["not_kept"]:
            yield (
                f"{label}: the latents of {found['not_kept']:,} rewrites, {found['bytes']:,} bytes each, "
                "were not kept; for an attack on latents that is added later these rewrites are made again"
            )
        if found["differing"]:
            yield (
                f"{label}: {found['differing']:,} rewrites gave another text than the stored one when they "
                "were made again for their latent: attacks saw the latent of another release of the same text"
            )


def note_violated_below(findings: Sequence[Finding], family: Family) -> Iterator[str]:
    """Yield which claims are violated by a row whose eps_emp is not above them, and why that is so."""
    below = [
        (finding, finding.claim.total)
        for finding in findings
        if finding.verdict.is_violation and finding.claim and finding.eps_emp <= finding.claim.total
    ]
    tests = len(family.find_reach().members) if below else 0
    for finding, total in below:
        at = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
        yield (
            f"{finding.label}{at}, {finding.attack} (plan {finding.plan}): the claim of {total:g} is "
            f"violated although eps_emp is {finding.eps_emp:.2f}: verdicts share the run's error among the "
            f"tests that can refute a claim ({tests}, fewer with each that does: Tarone, Holm), bounds among "
            f"all {len(family.rows)} rows. Both hold"
        )
