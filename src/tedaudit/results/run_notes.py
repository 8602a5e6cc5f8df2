"""What a reader must know of how a run was made before believing its numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tedaudit.errors import join_names
from tedaudit.estimators.likelihood_check import LIKELIHOOD, TEXT_LIKELIHOOD, success_tails
from tedaudit.results.family import Family
from tedaudit.results.findings import Finding
from tedaudit.runs.directory import RunDirectory

_LOOKED_AT = 500  # trials whose rewrites are compared with each other


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


def note_copies(run: RunDirectory, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield which mechanisms give one text again and again if they are asked several times.

    Then further releases tell no more, but equal texts show that they are of one original.
    """
    plans = [(name, info) for name, info in manifest["plans"].items() if info.get("rounds")]
    for name, info in plans:
        plan, rounds = run.plan(name, info["key"]), info["rounds"]
        if plan is None or info["strategy"] == "author":
            continue
        trials = min(len(plan) // rounds, _LOOKED_AT)
        rows = plan.rows(0, trials * rounds)
        for label, epsilon, _ in run.rewrite_folders():
            table = run.rewrites(label, epsilon)
            if table.missing(rows.source, rows.replicate).any():
                continue
            texts = table.fetch(rows.source, rows.replicate, ()).texts
            same = [len(set(texts[start : start + rounds])) == 1 for start in range(0, len(texts), rounds)]
            if 2 * sum(same) >= trials:
                at = f" at {epsilon.phrase}" if epsilon.is_given else ""
                yield (
                    f"{label}{at}: in {sum(same):,} of {trials:,} trials all {rounds} rewrites of a text are "
                    "the same, because noise is repeated, small or absent. Then further releases tell no "
                    "more, but equal texts show that they are of one original"
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


def note_remade(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield which mechanisms gave other rewrites when lost ones were made again."""
    for label, files in manifest.get("remade", {}).items():
        yield (
            f"{label}: rewrites were lost, and others came out when they were made again; the guesses on the "
            f"old ones ({files:,} files) were made again, which is another look if results had been seen"
        )


def note_violated_below(findings: Sequence[Finding], family: Family) -> Iterator[str]:
    """Yield which claims are violated by a row whose eps_emp is not above them, and why that is so."""
    below = [
        (finding, finding.claim.total)
        for finding in findings
        if finding.verdict.is_violation and finding.claim and finding.eps_emp <= finding.claim.total
    ]
    tests = len(family.find_reach().members) if below else 0
    first = family.look.number == 1  # later, all tests count, in reach or not
    among = "the tests that can refute a claim" if first else "all tests of a claim"
    names = "Tarone, Holm" if first else "Holm"
    for finding, total in below:
        at = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
        yield (
            f"{finding.label}{at}, {finding.attack} (plan {finding.plan}): the claim of {total:g} is "
            f"violated although eps_emp is {finding.eps_emp:.2f}: verdicts share the run's error among "
            f"{among} ({tests}, fewer with each that does: {names}), bounds among all {len(family.rows)} "
            "rows. Both hold"
        )


# --- Successes that a mechanism's own likelihoods cannot explain: these are then wrong, and reports say so.
#
# A likelihood attack is as often right as its own probabilities promise: that is checked guess by guess
# (`estimators.likelihood_check`), and again on fresh trials if it fails. And no attack is more often right
# than is `attainable`. Right likelihoods are called wrong so in at most one of 1,000 runs, since all
# attacks that are looked at share this error. Above a loss of about 10 guesses are all but always right, so
# that no sample can check the scale of a likelihood there.

ERROR = 0.001  # the probability with which right likelihoods are called wrong in a run
_LEAST = 1e-12  # smaller probabilities are not told apart


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Right guesses beside the success that likelihoods allow, and how probable so many are, at most."""

    finding: Finding
    allowed: float
    p: float

    def __str__(self) -> str:
        finding, right, trials = self.finding, self.finding.bound.correct, self.finding.counts.guesses
        return (
            f"the likelihoods of {_name(finding)} are not those of what it releases: "
            f"{finding.attack} was right in {right:,} of {trials:,} trials ({right / trials:.3f}) "
            f"of {finding.plan}, and they allow no more than {self.allowed:.3f}; by chance that has a "
            f"probability of {max(self.p, _LEAST):.1g} at most. Do not believe `attainable` there"
        )


def note_contradictions(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what the likelihoods of a run cannot explain."""
    yield from _note_checks(findings)
    trials = {f.plan: max(g.planned for g in findings if g.plan == f.plan) for f in findings}
    whole = [f for f in findings if f.complete and f.planned == trials[f.plan]]  # not on fresh trials alone
    settings = [finding.setting for finding in whole if finding.score == LIKELIHOOD]
    compared = [
        comparison
        for finding in whole
        if settings.count(finding.setting) == 1 and (comparison := _compare(finding)) is not None
    ]
    for comparison in compared:
        if comparison.p <= ERROR / len(compared):
            yield str(comparison)


def _note_checks(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield which likelihoods the trials of their own attack refute, or failed without a repeat."""
    for finding in findings:
        if finding.score not in (LIKELIHOOD, TEXT_LIKELIHOOD) or finding.likelihood is None:
            continue
        of_texts = "of texts " if finding.score == TEXT_LIKELIHOOD else ""
        if finding.likelihood.is_refuted:
            yield (
                f"the likelihoods {of_texts}of {_name(finding)} are not those of what it releases: "
                f"{finding.likelihood}. Nothing that follows from them is told of {finding.plan}, and no "
                "violation is certain by them; what attacks found stands"
            )
        elif finding.likelihood.is_doubtful:
            yield (
                f"the likelihoods {of_texts}of {_name(finding)} do not fit the trials of {finding.plan}: "
                f"{finding.likelihood}. Right ones fail once in 1,000; no violation is certain by them. The "
                "same `tedaudit run` again repeats the check on fresh trials"
            )


def _name(finding: Finding) -> str:
    return f"{finding.label} at {finding.epsilon.phrase}" if finding.epsilon.is_given else finding.label


def _compare(finding: Finding) -> _Comparison | None:
    """Return the comparison of an attack that knows no likelihoods; None if there is none to be made."""
    attainable, counts = finding.measures.attainable, finding.counts
    answered = counts.guesses if counts.answered is None else sum(counts.answered)
    if finding.score == LIKELIHOOD or attainable is None or not 0 <= attainable <= 1:
        return None
    if not finding.one_guess_per_trial or not answered:
        return None
    _, above = success_tails(attainable, counts.guesses, finding.bound.correct)
    return _Comparison(finding, attainable, above)
