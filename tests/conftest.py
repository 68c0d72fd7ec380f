"""Shared by all tests: how hard hypothesis tries, and kernels that are compiled before they answer.

`pytest --hypothesis-profile=deep` runs the property tests on thousands of examples. Where CI is set
the examples are the same in every run, so that a change is judged by what it changed; everywhere
else they are drawn anew.
"""

import os

from hypothesis import settings

os.environ.setdefault("FSPN_KERNELS", "wait")

REPEATABLE = bool(os.environ.get("CI"))
settings.register_profile("normal", max_examples=60, deadline=None, derandomize=REPEATABLE)
settings.register_profile("deep", max_examples=4000, deadline=None)
settings.load_profile("normal")
