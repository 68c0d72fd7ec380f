"""pomegranate 1.1.2: counts for a given structure, holds the network, answers by loopy propagation.

Its `pseudocount` is never applied to conditional tables, so smoothing is ours
(`baselines.bayes_net.cpt`); its `log_probability` walks the rows in Python, so rows
are scored from the same tables in numpy.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from baselines.base import ModelTooLarge
from baselines.bayes_net.chow_liu import Parents
from baselines.encoding import FREE

if TYPE_CHECKING:
    import torch

MAX_ROWS = 2**22
"""float32 counts are exact up to 2**24: larger tables are summarised in pieces."""
MAX_BATCH = 20_000
"""Most rows of one table's propagation: every row keeps messages for the whole network."""


def engine_name() -> str:
    """Name and version of the engine, for the result rows."""
    from importlib.metadata import version

    return f"pomegranate {version('pomegranate')} loopy predict_proba"


def build_network(parents: Parents, cpts: list[np.ndarray]) -> Any:
    """A `pomegranate.bayesian_network.BayesianNetwork` that holds the given tables (float32)."""
    import torch
    from pomegranate.bayesian_network import BayesianNetwork
    from pomegranate.distributions import Categorical, ConditionalCategorical

    nodes = []
    for above, cpt in zip(parents, cpts, strict=True):
        probs = torch.tensor(cpt, dtype=torch.float32)
        nodes.append(ConditionalCategorical([probs]) if above else Categorical(probs[None]))
    edges = [(nodes[p], nodes[child]) for child, above in enumerate(parents) for p in above]
    return BayesianNetwork(nodes, edges)


def fit_counts(codes: np.ndarray, cards: np.ndarray, parents: Parents) -> list[np.ndarray]:
    """The network's sufficient statistics N(u, x), as pomegranate's `summarize` collects them."""
    import torch

    shapes = [tuple(int(cards[a]) for a in (*above, i)) for i, above in enumerate(parents)]
    counts = [np.zeros(shape) for shape in shapes]
    network = build_network(parents, [np.full(s, 1.0 / s[-1], dtype=np.float32) for s in shapes])
    for start in range(0, len(codes), MAX_ROWS):
        network.summarize(torch.tensor(codes[start : start + MAX_ROWS], dtype=torch.int64))
        for node, total in zip(network.distributions, counts, strict=True):
            total += node._xw_sum[0].numpy().reshape(total.shape)
            node._reset_cache()
    return counts


class PomegranateEngine:
    r"""Joint conditionals by the chain rule over pomegranate's marginals.

    \(P(q_1, \dots, q_k \mid e) = \prod_j P(q_j \mid q_{<j}, e)\), each factor a `predict_proba`:
    exact on trees up to float32, approximate on other networks.
    """

    def __init__(self, parents: Parents, cpts: list[np.ndarray]) -> None:
        self._cards = [cpt.shape[-1] for cpt in cpts]
        self._net = build_network(parents, cpts)

    def table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        """P(targets | given), one axis per target."""
        rows = int(np.prod([self._cards[i] for i in target[:-1]]))
        if rows > MAX_BATCH:
            raise ModelTooLarge(
                f"pomegranate would propagate {rows} partial assignments for this table, "
                f"more than {MAX_BATCH}; ask fewer query columns or use engine=pyagrum"
            )
        table = np.ones(1)
        prefixes = np.array(given, copy=True)[None]
        for i in target:
            table = (table[:, None] * self._marginals(prefixes)[i]).ravel()
            prefixes = np.repeat(prefixes, self._cards[i], axis=0)
            prefixes[:, i] = np.tile(np.arange(self._cards[i]), len(prefixes) // self._cards[i])
        return (table / table.sum()).reshape([self._cards[i] for i in target])

    def conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Batch of Pr(q | e): the j-th factor of all rows comes from one propagation."""
        known = given.copy()
        result = np.ones(len(asked))
        order = np.argsort(asked == FREE, axis=1, kind="stable")
        for j in range(int((asked != FREE).sum(axis=1).max(initial=0))):
            rows = np.flatnonzero(asked[np.arange(len(asked)), order[:, j]] != FREE)
            result[rows] *= self._advance(known, asked, rows, order[rows, j])
        return result

    def _advance(
        self, known: np.ndarray, asked: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """The next factor of each row, after which its query column becomes evidence."""
        marginals = self._marginals(known[rows])
        values = asked[rows, columns]
        known[rows, columns] = values
        pairs = zip(columns, values, strict=True)
        return np.array([marginals[c][k, v] for k, (c, v) in enumerate(pairs)])

    def boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Not offered: the loopy engine has no probability of evidence."""
        raise NotImplementedError("pomegranate has no probability of evidence")

    def _marginals(self, known: np.ndarray) -> list[np.ndarray]:
        import torch

        seen = torch.tensor(known != FREE)
        values = torch.tensor(np.where(known == FREE, 0, known), dtype=torch.int64)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*MaskedTensors is in prototype")
            answer = self._net.predict_proba(torch.masked.MaskedTensor(values, mask=seen))
        return [_normalised(a) for a in answer]


def _normalised(probabilities: torch.Tensor) -> np.ndarray:
    array = probabilities.detach().numpy().astype(np.float64)
    return array / array.sum(axis=1, keepdims=True)
