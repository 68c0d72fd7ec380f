"""FSPN: factorize-split-sum-product networks, learned from tables and queried exactly."""

from fspn.convert import bn_to_fspn, spn_to_fspn
from fspn.draw import draw
from fspn.estimator import FSPN
from fspn.schema.missing import MISSING, NOT_MISSING
from fspn.validate import validate

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
