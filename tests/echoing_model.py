"""A server that echoes a prompt with log-probabilities as vLLM does, with a real model behind it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tedaudit.models.loading import Checkpoint, load_checkpoint


def read_prompt(model: Checkpoint, prompt: str) -> dict[str, Any]:
    """Return the log-probability of every token of a prompt but the first, and where each begins."""
    import torch

    read = model.tokenizer(prompt, return_offsets_mapping=True, return_tensors="pt")
    ids = read["input_ids"]
    with torch.inference_mode():
        rows = model.model(input_ids=ids).logits[0, :-1].double().log_softmax(dim=1)
    values = rows.gather(1, ids[0, 1:, None])[:, 0].tolist()
    return {"token_logprobs": [None, *values], "text_offset": read["offset_mapping"][0, :, 0].tolist()}


@contextmanager
def running(folder: Path) -> Iterator[tuple[str, Callable[[str, str], float]]]:
    """Serve a causal model, and yield its name as an anonymiser and what computes its answer by hand."""
    model = load_checkpoint("causal", str(folder), "", "cpu", "float32")

    def compute(head: str, text: str) -> float:
        import torch

        ids = model.tokenizer(head + text, return_tensors="pt")["input_ids"]
        first = len(model.tokenizer(head)["input_ids"])
        total, past = 0.0, ids[:, :first]
        for token in ids[0, first:]:
            with torch.inference_mode():
                logits = model.model(input_ids=past).logits[0, -1].double()
            total += float(logits[token] - logits.logsumexp(0))
            past = torch.cat([past, token.view(1, 1)], dim=1)
        return total

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            echoes = self.path == "/v1/completions" and body["echo"] and body["logprobs"] == 1
            choice = (
                {"text": body["prompt"], "logprobs": read_prompt(model, body["prompt"])} if echoes else {}
            )
            content = json.dumps({"choices": [choice]}).encode()
            self.send_response(200 if echoes else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"openai:tiny@http://127.0.0.1:{server.server_port}/v1", compute
    finally:
        server.shutdown()
        server.server_close()
