"""Judges named by a string: `hf:ID_OR_PATH`, in this process, or `openai:MODEL@URL`, behind a server."""

from tedaudit.errors import SpecError
from tedaudit.inference.judges.address import check_address, hide_address
from tedaudit.inference.judges.base import Judge, Service


def check_backend(backend: str, *, allow_remote: bool) -> None:
    """Refuse an unknown backend, and a server on another machine unless the user allows it."""
    kind, _, name = backend.partition(":")
    if kind not in ("hf", "openai") or not name:
        raise SpecError(
            f"The judge is '{hide_address(backend)}'; it must be hf:ID_OR_PATH, a model in this process, or "
            "openai:MODEL@URL, a model behind an OpenAI-compatible server."
        )
    if kind == "openai":
        check_address(backend, allow_remote=allow_remote)


def load_judge(backend: str, service: Service, device: str = "auto", dtype: str = "auto") -> Judge:
    """Return the judge for a backend."""
    check_backend(backend, allow_remote=service.allow_remote)
    kind, _, name = backend.partition(":")
    if kind == "hf":
        from tedaudit.inference.judges.local import load_local

        return load_local(name, device, dtype)
    from tedaudit.inference.judges.remote import RemoteJudge

    return RemoteJudge(backend, service)
