"""Settings for all tests.

In CI, generated examples are the same every time, so that a run can be trusted. Tests name their models:
the zoo is kept out of the defaults, except where a test is about them. Temporary folders lie in memory if
there is room: every file of a run is flushed to its disk, for which thousands of audits would wait.
"""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings

MEMORY = Path("/dev/shm")
ROOM = 2 * 2**30  # bytes, several times of what lies there at any moment

os.environ["TEDAUDIT_ZOO"] = "off"
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # asked for again with the next folder
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
