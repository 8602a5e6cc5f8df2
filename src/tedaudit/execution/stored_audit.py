"""The audit that a run directory was made by, to be gone on with, repeated or asked something more."""

from tedaudit.corpora._given import Given
from tedaudit.spec.model import AuditSpec, parse_spec
from tedaudit.store.directory import RunDirectory


def restore_audit(run: RunDirectory) -> AuditSpec:
    """Return the audit of a run on its texts as the run has them, whatever became of their file."""
    corpus = {"name": "given", "live": Given(run.corpus())}
    return parse_spec({**run.manifest()["spec"], "corpus": corpus, "out": str(run.root)})
