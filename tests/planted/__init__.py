"""Rewriters with a known flaw, and rewriters without any: what the tool is tested on.

Each is tiny and needs no model; the flaw is in its code, not in a label. `flaws.py` lists them, `nulls.py`
has those that reveal nothing, `scripts.py` texts without spaces and from right to left. `work.py` has the
tool look at one of them, `trying.py` at all, and `python -m planted.write` prints what came out.
"""
