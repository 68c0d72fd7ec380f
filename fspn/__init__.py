"""FSPN: factorize-split-sum-product networks, learned from tables and queried exactly."""

from fspn.estimator import FSPN

__version__ = "0.1.0"
__all__ = ["FSPN", "__version__"]
