"""A small study that several test files start from."""

from pathlib import Path

from tedaudit.studies.utility.settings import UtilitySpec, parse_utility


def make_study(out: Path, **changes: object) -> UtilitySpec:
    """Return a study of the demo corpus with a classifier that needs no model; settings can be changed."""
    settings: dict[str, object] = {
        "corpus": {"name": "demo", "size": 300}, "mechanisms": ["identity"], "epsilons": [8],
        "tasks": ["topic"], "classifier": "tfidf", "seeds": 2, "out": str(out),
    }  # fmt: skip
    return parse_utility(settings | changes)
