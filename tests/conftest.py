"""Shared by all tests: how hard hypothesis tries.

`pytest --hypothesis-profile=deep` runs the property tests on thousands of examples.
"""

from hypothesis import settings

settings.register_profile("normal", max_examples=60, deadline=None)
settings.register_profile("deep", max_examples=4000, deadline=None)
settings.load_profile("normal")
