"""Networks and SPNs of other programs, answered by the compiled FSPN engine.

Timed this way two models are compared by what they are, not by the program that came with them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from baselines.base import DensityModel
from baselines.bayes_net.network import BayesNet
from baselines.compiled import Compiled, domain_of
from baselines.spflow.mspn import SpflowModel
from fspn import FSPN
from fspn.convert import network_nodes, network_of_tables, spn_nodes
from fspn.model.nodes import Node

MAX_NODES = 200_000
"""Larger models are left where they are: compiling them takes longer than asking them."""


class SameEngine(Compiled):
    """A fitted model, converted to an FSPN that gives the same answers."""

    name: ClassVar[str] = "same_engine"

    def __init__(self, source: DensityModel, root: Node) -> None:
        self.encoder = source.encoder
        self.model = FSPN.from_root(domain_of(self.encoder, self._values), root)

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        raise TypeError("a converted model is not fitted again: fit its source")


def in_our_engine(model: DensityModel) -> DensityModel | None:
    """The model as our engine answers it, itself if it does so already; None if there is no way.

    There is none for a model that is neither a network nor an SPN, for an SPN without some of the
    columns, and for one of more than `MAX_NODES` nodes.
    """
    if isinstance(model, Compiled):
        return model
    root = _root(model) if model.n_nodes <= MAX_NODES else None
    return None if root is None else SameEngine(model, root)


def _root(model: DensityModel) -> Node | None:
    if isinstance(model, BayesNet) and not model.loopy:
        cards: Any = model.encoder.cards
        return network_nodes(network_of_tables(cards, model.parents, model.cpts))[1]
    if isinstance(model, SpflowModel) and len(model.varying) == len(model.encoder.columns):
        return spn_nodes(model.root)[1]
    return None
