"""Bayesian networks and tree SPNs as FSPNs (Appendix A): the same answers, no larger a model.

Imports ``schema``, ``model`` and the estimator; peer libraries only when their objects are given.
Start with :mod:`fspn.convert.tables`, BN-to-FSPN itself.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fspn.convert.bif import parse_bif, read_bif
from fspn.convert.peers import network_of
from fspn.convert.spflow import spn_nodes
from fspn.convert.tables import BayesNet, network_nodes, network_of_tables
from fspn.estimator import FSPN

__all__ = [
    "BayesNet",
    "bn_to_fspn",
    "network_nodes",
    "network_of",
    "network_of_tables",
    "parse_bif",
    "read_bif",
    "spn_nodes",
    "spn_to_fspn",
]


def bn_to_fspn(
    source: Any,
    parents: Sequence[Sequence[int]] | None = None,
    cpts: Sequence[np.ndarray] | None = None,
    names: Sequence[Hashable] | None = None,
) -> FSPN:
    """An FSPN that answers as a discrete Bayesian network does.

    >>> import numpy as np
    >>> rain, wet = np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> model = bn_to_fspn([2, 2], [(), (0,)], [rain, wet], names=["rain", "wet"])
    >>> round(model.conditional({"rain": 1}, {"wet": 1}), 4)
    0.6667

    Arguments:
        source: A BIF file, a :class:`BayesNet`, a pyAgrum, pgmpy or pomegranate network; or the
            cardinalities of the variables, with the next two arguments.
        parents: The parents of every variable, as positions.
        cpts: The tables: axes of the parents in their order, then the variable's own codes.
        names: The names of the columns; by default those of the source, or 0, 1, 2, ...
    """
    if (parents is None) != (cpts is None):
        raise ValueError("cardinalities come with both parents and cpts")
    if parents is not None and cpts is not None:
        network = network_of_tables(source, parents, cpts, names)
    elif isinstance(source, str | os.PathLike):
        network = read_bif(source).renamed(names)
    else:
        network = network_of(source).renamed(names)
    return FSPN.from_root(*network_nodes(network))


def spn_to_fspn(
    root: Any, names: Sequence[Hashable] | None = None, normalize: bool = False
) -> FSPN:
    """An FSPN that answers as an SPFlow tree does.

    Arguments:
        root: The root of an SPFlow (0.0.48) SPN of sum, product, categorical, Bernoulli, Gaussian
            and histogram nodes.
        names: The names of the columns; by default SPFlow's numbers.
        normalize: Divide histograms by their mass where it is not 1, as SPFlow's smoothing of
            continuous columns leaves it. Without this they are an error.
    """
    return FSPN.from_root(*spn_nodes(root, names, normalize))
