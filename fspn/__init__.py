"""FSPN: factorize-split-sum-product networks, learned from tables and queried exactly.

Imports neither ``baselines`` nor ``experiments``. Start with :mod:`fspn.estimator` for use, with
:mod:`fspn.model` for what the model is. The estimator, and with it scikit-learn and numba, is
imported on first use.
"""

from typing import TYPE_CHECKING, Any

from fspn.draw import draw
from fspn.schema.missing import MISSING, NOT_MISSING
from fspn.validate import validate

if TYPE_CHECKING:
    from fspn.convert import bn_to_fspn, spn_to_fspn
    from fspn.estimator import FSPN

__version__ = "0.1.0"
__all__ = [
    "FSPN",
    "MISSING",
    "NOT_MISSING",
    "__version__",
    "bn_to_fspn",
    "draw",
    "spn_to_fspn",
    "validate",
]

_LATE = {"FSPN": "fspn.estimator", "bn_to_fspn": "fspn.convert", "spn_to_fspn": "fspn.convert"}


def __getattr__(name: str) -> Any:
    """The public names that are not imported yet."""
    if name not in _LATE:
        raise AttributeError(f"module 'fspn' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_LATE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
