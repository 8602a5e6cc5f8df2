"""DP-ST on tiny models, a parser trained on a few sentences and a small public table; and texts for it."""

from pathlib import Path

from tedaudit.mechanisms.dp_st import DPST
from tedaudit.plugins.registry import Reference, build
from tiny_models import CHAT_TEMPLATE, save_llama, save_t5
from tiny_triples import save_parser, save_public_table

BICYCLE = "my sister bought a red bicycle"
KEYS = "she lost the keys in the park"
BREAD = "the old baker sold bread"
MOTHER = "the doctor called my mother"
RENT = "he paid the rent and bought a car"
HELLO = "hello there"
ODD = (
    "",
    " ",
    "?!...",
    "\ud800 lost",
    "\x00\x07\n\t",
    "😀👩‍👩‍👧",
    "she lost the keys . " * 2500,
    "x" * 30_000,
)


def save_parts(folder: Path) -> dict[str, str]:
    """Save all that DP-ST reads, with two models to choose from, and return the places by their names."""
    return {
        "model": str(save_llama(folder / "llama", CHAT_TEMPLATE)),
        "seq2seq": str(save_t5(folder / "t5")),
        "extractor": f"spacy:{save_parser(folder / 'parser')}",
        "table": str(save_public_table(folder / "table")),
    }


def make_dp_st(folders: dict[str, str], variant: str) -> DPST:
    """Return a variant that draws two triples and writes a few tokens."""
    where = {name: folders[name] for name in ("model", "extractor", "table")}
    short = {"max_tokens": 6, "triples": 2, "template": "Say {triples}"}
    fields = {"variant": variant, "device": "cpu", **short, **where}
    found = build(Reference("mechanism", "dp-st", fields))
    assert isinstance(found, DPST)
    return found
