"""Is this a proper FSPN? Scopes, weights, leaves, and regions that tile (Section 3).

Imports ``schema`` and ``model``. Start with :mod:`fspn.validate.model`.
"""

from fspn.validate.model import ModelError, validate

__all__ = ["ModelError", "validate"]
