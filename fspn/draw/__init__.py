"""Pictures of a model's structure, as in the paper's Figure 1.

Imports ``schema`` and ``model``; matplotlib when a picture is made.
Start with :mod:`fspn.draw.picture`.
"""

from fspn.draw.picture import draw

__all__ = ["draw"]
