"""A real HTTP server that judges, well or badly on purpose, and counts what it is asked."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BROKEN = {  # what a server may answer with status 200 instead of an answer
    "garbage": b"<html>not what you asked for</html>",
    "empty": b'{"choices": [{"message": {"role": "assistant", "content": ""}}]}',
    "null": b'{"choices": [{"message": {"role": "assistant", "content": null}, "logprobs": null}]}',
    "none": b'{"choices": []}',
    "text": b'{"choices": [{"message": "answer: [[1]]"}]}',
    "nothing": b"",
    "list": b"[1]",
    "cut": b'{"choices": [{"message": {"content": "answer',
    "deep": b"[" * 100_000,
    "nan": b'{"choices": [{"message": {"content": ""}, "logprobs": {"content": [{"token": "1", "logprob": '
           b'NaN, "top_logprobs": [{"token": "1", "logprob": NaN}]}]}}]}',
    "bare": b'{"choices": [{"message": {"content": ""}, "logprobs": {"content": [{"token": "1"}]}}]}',
    "strings": b'{"choices": [{"message": {"content": ""}, "logprobs": {"content": ["1", "2"]}}]}',
}  # fmt: skip


class Judging:
    """What the server does: `faults` holds what goes wrong with the next requests, then it behaves.

    A question that contains `poison` always meets the fault named with it.
    """

    def __init__(self, faults=(), answer="answer: [[1]]", logprobs=True, echoes=False, poison=("", "")):
        self.faults, self.answer, self.logprobs = list(faults), answer, logprobs
        self.echoes, self.poison = echoes, poison
        self.bodies, self.headers, self.lock = [], [], threading.Lock()
        self.is_over = threading.Event()
        self.url = ""

    @property
    def backend(self):
        return f"openai:tiny@{self.url}/v1"

    def next_fault(self, body):
        word, fault = self.poison
        if word and word in (body.get("prompt") or body["messages"][0]["content"]):
            return fault
        with self.lock:
            return self.faults.pop(0) if self.faults else ""


def reply(judging, body):
    """Answer as an OpenAI-compatible server does: "1" is likelier than "2"."""
    choice = {"message": {"role": "assistant", "content": judging.answer}}
    if body.get("logprobs") and judging.logprobs:
        begun = body["messages"][-1]["content"] if body["messages"][-1]["role"] == "assistant" else ""
        tops = [("1", -0.5), ("2", -1.5), ("x", -4.0)]
        if begun[-1:].isdigit():
            tops = [("]]", -0.1), ("0", -3.0)]
        told = [{"token": token, "logprob": value} for token, value in tops]
        choice["logprobs"] = {"content": [{**told[0], "top_logprobs": told}]}
    return json.dumps({"choices": [choice]}).encode()


def echo(body):
    """Answer as vLLM does if it is asked to repeat the prompt: every character is a token of -0.5."""
    size = len(body["prompt"])
    told = {"token_logprobs": [None] + [-0.5] * (size - 1), "text_offset": list(range(size))}
    return json.dumps({"choices": [{"text": body["prompt"], "logprobs": told}]}).encode()


def handler_for(judging):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            chat = self.path.endswith("/chat/completions")
            if not chat and not (judging.echoes and self.path.endswith("/completions")):
                return self.send(404, b"{}")
            with judging.lock:
                judging.bodies.append(body)
                judging.headers.append(dict(self.headers))
            fault = judging.next_fault(body)
            if fault == "close":
                self.close_connection = True
                return None
            if fault == "hang":
                judging.is_over.wait(600)  # longer than anybody waits
            if fault.isdigit():
                told = {"error": f"no, {self.headers.get('Authorization')}"}
                return self.send(int(fault), json.dumps(told).encode())
            return self.send(
                200, BROKEN[fault] if fault in BROKEN else reply(judging, body) if chat else echo(body)
            )

        def send(self, status, content):
            try:
                self.send_response(status)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # who asked has gone
                pass

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # the default of 5 makes clients that call at once wait for a second


@contextmanager
def running(*arguments, **options) -> Iterator[Judging]:
    judging = Judging(*arguments, **options)
    server = Server(("127.0.0.1", 0), handler_for(judging))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    judging.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield judging
    finally:
        judging.is_over.set()
        server.shutdown()
        server.server_close()
