"""Settings for all tests.

In CI, generated examples are the same every time, so that a run can be trusted. Tests name their models:
the zoo is kept out of the defaults, except where a test is about them.
"""

import os

from hypothesis import settings

os.environ["TEDAUDIT_ZOO"] = "off"
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
