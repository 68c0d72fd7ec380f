"""Several models as one: a sum node over their roots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fspn.model.nodes import Node, Sum


def average(roots: Sequence[Node], weights: Sequence[float] | None = None) -> Node:
    r"""The FSPN of :math:`\sum_i w_i \Pr_i(X)`; sum nodes at the roots are merged into it.

    Arguments:
        roots: Models over the same variables.
        weights: Positive, of any sum; None = all the same.
    """
    if not roots:
        raise ValueError("an ensemble needs at least one model")
    if len({root.scope for root in roots}) > 1:
        raise ValueError("the models of an ensemble must be over the same variables")
    shares = np.ones(len(roots)) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (len(roots),) or not (np.isfinite(shares).all() and (shares > 0).all()):
        raise ValueError(f"weights={weights!r} must be one positive number per model")
    children: list[Node] = []
    parts: list[np.ndarray] = []
    for root, share in zip(roots, shares / shares.sum(), strict=True):
        if isinstance(root, Sum):
            children.extend(root.children)
            parts.append(share * root.weights)
        else:
            children.append(root)
            parts.append(np.array([share]))
    return children[0] if len(children) == 1 else Sum(np.concatenate(parts), tuple(children))
