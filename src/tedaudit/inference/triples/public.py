"""A public table of triples together with the encoder that made its vectors."""

from functools import lru_cache

from tedaudit.errors import ModelError
from tedaudit.inference.encoders import Encoder
from tedaudit.inference.triples.table import TripleTable, load_table
from tedaudit.inference.triples.vectors import load_dense_encoder


@lru_cache(maxsize=2)
def load_matching(reference: str, encoder_name: str, dimensions: int) -> tuple[TripleTable, Encoder]:
    """Return a table and the encoder that made its vectors; raise if they do not match."""
    table = load_table(reference)
    name = encoder_name or table.about.get("encoder", "")
    if not name:
        raise ModelError(
            f"The table of triples '{reference}' does not name the encoder that made it. Set `encoder`."
        )
    if table.dimensions != dimensions:
        raise ModelError(
            f"The table of triples '{reference}' has {table.dimensions} dimensions; `dimensions` is "
            f"{dimensions}. Set it to {table.dimensions}, or build a table with {dimensions}."
        )
    encoder = load_dense_encoder(name)
    weights, expected = encoder.fingerprint()["encoder weights"], table.about.get("encoder weights")
    if expected and expected != weights:
        raise ModelError(
            f"The table of triples '{reference}' was made with another encoder than '{name}' "
            f"(weights {expected}, not {weights}). Set `encoder` to that one: {table.about.get('encoder')}."
        )
    return table, encoder
