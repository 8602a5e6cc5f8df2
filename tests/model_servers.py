"""A hub of models and a package index on this machine, which can be made to misbehave."""

import hashlib
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tedaudit.models.catalogue import Entry, File, Repository

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Serving:
    """What a server has: files by their path in the address.

    `cut` ends so many answers in the middle, of files whose path ends with `cut_at`; `status` refuses all.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files, self.cut, self.cut_at, self.asked = dict(files), 0, "", []
        self.url, self.status = "", 0


@contextmanager
def serve(state: Serving, *, is_hub: bool) -> Iterator[Serving]:  # noqa: C901 - the server, whole
    """Answer as a hub does (/ID/resolve/COMMIT/FILE), or as a package index (/simple/NAME/)."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self._answer(has_body=False)

        def do_GET(self):
            self._answer(has_body=True)

        def _answer(self, *, has_body):
            path = self.path.partition("?")[0]
            name = path.replace(f"/resolve/{COMMIT}", "").strip("/") if is_hub else path.strip("/")
            state.asked.append((self.command, name, self.headers.get("Range", "")))
            page = None if is_hub else _list_wheels(state, name)
            body = state.files.get(name) if page is None else page
            if body is None or state.status:
                self._refuse(state.status or 404)
                return
            start = (
                int(found[1]) if (found := re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))) else 0
            )
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.send_header("Content-Type", "application/octet-stream" if page is None else "text/html")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            if is_hub:
                self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
                self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if has_body:
                self._send(
                    body[start:], is_cut=state.cut > 0 and len(body) > 1000 and name.endswith(state.cut_at)
                )

        def _refuse(self, status):
            self.send_response(status)
            if is_hub and status == 404:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _send(self, data, *, is_cut):
            if is_cut:
                state.cut -= 1
                self.close_connection = True
                data = data[: len(data) // 2]
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # connections that are cut on purpose
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def _list_wheels(state: Serving, name: str) -> bytes | None:
    """Return the page of a project in a package index; None if a file was asked for."""
    if not name.startswith("simple/"):
        return None
    project = name.removeprefix("simple/").replace("-", "_")
    wheels = [file for file in state.files if file.startswith(f"{project}-")]
    return "".join(f'<a href="/{one}">{one}</a>' for one in wheels).encode() if wheels else None


def describe_files(folder: Path) -> list[File]:
    """Return what a catalogue says of the files in a folder."""
    return [
        File(path.relative_to(folder).as_posix(), path.stat().st_size, digest(path.read_bytes()))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_entry(folder: Path, **settings) -> Entry:
    """Return an entry for the model in a folder."""
    files = describe_files(folder)
    size = sum(file.bytes for file in files)
    hub = [Repository("some/tiny", COMMIT)]
    about = {"licence": "none", "memory": size, "made": size, "files": files, "hub": hub}
    return Entry("tiny", "A tiny model.", **{**about, **settings})


def make_hub(folder: Path) -> tuple[Entry, Serving]:
    """Return an entry for a model in a folder, and a hub that has it."""
    entry = make_entry(folder)
    return entry, Serving({f"some/tiny/{one.path}": (folder / one.path).read_bytes() for one in entry.files})
