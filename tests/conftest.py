"""Shared by all tests: how hard hypothesis tries, and kernels that are compiled before they answer.

`pytest --hypothesis-profile=deep` runs the property tests on thousands of examples.
"""

import os

from hypothesis import settings

os.environ.setdefault("FSPN_KERNELS", "wait")

settings.register_profile("normal", max_examples=60, deadline=None)
settings.register_profile("deep", max_examples=4000, deadline=None)
settings.load_profile("normal")
