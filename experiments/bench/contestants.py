"""The engines that answer the same queries, each by its own best way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from baselines.base import DensityModel
from baselines.bayes_net.pomegranate_engine import PomegranateEngine
from baselines.encoding import FREE
from baselines.registry import build_model
from experiments.bench.clock import Pass, seconds_of, whole
from experiments.bench.data import Boxes, boxes, settings, study_fspn
from experiments.types import Dataset, EvidenceQuery
from fspn import FSPN

LABELS = {
    "fspn": "FSPN, one `probability(lower, upper)` of both boxes",
    "fspn_twice": "FSPN, `probability(lower, upper)` twice",
    "fspn_dict": "FSPN, `conditional({...}, {...})`",
    "bn_tree": "pyAgrum on BN-Tree",
    "bn_dag": "pyAgrum on BN-DAG",
    "mspn": "SPFlow's MSPN, array leaves (ours)",
    "mspn_own": "SPFlow's MSPN, SPFlow's `likelihood`",
    "loopy_tree": "pomegranate on BN-Tree",
    "loopy_dag": "pomegranate on BN-DAG",
}


@dataclass(frozen=True)
class Codes:
    """Queries as the baselines' adapters take them: codes of q and of e."""

    asked: np.ndarray
    given: np.ndarray


@dataclass(frozen=True)
class Models:
    """The fitted models of one dataset."""

    fspn: FSPN
    tree: Any
    dag: Any
    mspn: Any


def fit_models(dataset: Dataset, seed: int) -> Models:
    """All at the settings of `conf/model`."""
    peers = {name: build_model(settings("model", name)) for name in ("bn_tree", "bn_dag", "mspn")}
    for model in peers.values():
        model.fit(dataset.train, dataset.domains, seed)
    return Models(fit_fspn(dataset, seed), peers["bn_tree"], peers["bn_dag"], peers["mspn"])


def fit_fspn(dataset: Dataset, seed: int) -> FSPN:
    """FSPN at the settings of `conf/model`."""
    return study_fspn(seed).fit(dataset.train, domains=dict(dataset.domains.items()))


def single_passes(models: Models, queries: Sequence[EvidenceQuery], slow: int) -> dict[str, Pass]:
    """Every engine, one query after the other."""
    columns = list(models.tree.encoder.columns)
    codes = encode(models.tree, queries)
    few = Codes(codes.asked[:slow], codes.given[:slow])
    return {
        "fspn": _fspn_pair(models.fspn, boxes(queries, columns)),
        "fspn_twice": _fspn_twice(models.fspn, boxes(queries, columns)),
        "fspn_dict": _fspn_dict(models.fspn, queries),
        "bn_tree": _one_by_one(models.tree._conditional, codes),
        "bn_dag": _one_by_one(models.dag._conditional, codes),
        "mspn": _one_by_one(models.mspn._conditional, codes),
        "mspn_own": _one_by_one(SpflowOwn(models.mspn).conditional, few),
        "loopy_tree": _one_by_one(_loopy(models.tree).conditional, few),
        "loopy_dag": _one_by_one(_loopy(models.dag).conditional, few),
    }


def batch_passes(models: Models, queries: Sequence[EvidenceQuery]) -> dict[str, Pass]:
    """The engines that take many queries in one call; seconds per query."""
    events = boxes(queries, list(models.tree.encoder.columns)).stacked
    codes = encode(models.tree, queries)
    n = len(queries)
    calls = {
        "fspn": whole(lambda: fspn_batch(models.fspn, events)),
        "mspn": whole(lambda: models.mspn._conditional(codes.asked, codes.given)),
    }
    return {name: _per_query(call, n) for name, call in calls.items()}


def encode(model: DensityModel, queries: Sequence[EvidenceQuery]) -> Codes:
    """Queries in a model's codes."""
    points = model.encoder.points
    return Codes(points([q.target for q in queries]), points([q.evidence for q in queries]))


def fspn_batch(model: FSPN, events: np.ndarray) -> np.ndarray:
    """Pr(q | e) of stacked events: one call of the public interface, and a division."""
    found = model.probability(events, events)
    n = len(found) // 2
    answers: np.ndarray = found[:n] / found[n:]
    return answers


class SpflowOwn:
    """What SPFlow's users call: `likelihood` with NaN for what is summed out."""

    def __init__(self, model: Any) -> None:
        self.root, self.varying = model._evaluator.root, model.varying

    def conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Pr(q | e) as a ratio of two rows of one call."""
        from spn.algorithms.Inference import likelihood

        codes = np.concatenate([np.where(asked == FREE, given, asked), given])[:, self.varying]
        rows = np.where(codes == FREE, np.nan, codes.astype(np.float64))
        joint, whole_event = np.split(likelihood(self.root, rows).ravel(), 2)
        answers: np.ndarray = joint / whole_event
        return answers


def _loopy(network: Any) -> PomegranateEngine:
    return PomegranateEngine(network.parents, network.cpts)


def _fspn_pair(model: FSPN, events: Boxes) -> Pass:
    pairs = list(np.stack([events.joint, events.given], axis=1))
    return lambda: np.array([seconds_of(lambda p=p: fspn_batch(model, p)) for p in pairs])  # type: ignore[misc]


def _fspn_twice(model: FSPN, events: Boxes) -> Pass:
    def ask(joint: np.ndarray, given: np.ndarray) -> float:
        answer: float = model.probability(joint, joint) / model.probability(given, given)
        return answer

    pairs = list(zip(events.joint, events.given, strict=True))
    return lambda: np.array([seconds_of(lambda q=q, e=e: ask(q, e)) for q, e in pairs])  # type: ignore[misc]


def _fspn_dict(model: FSPN, queries: Sequence[EvidenceQuery]) -> Pass:
    return lambda: np.array(
        [seconds_of(lambda q=q: model.conditional(q.target, q.evidence)) for q in queries]  # type: ignore[misc]
    )


def _one_by_one(conditional: Any, codes: Codes) -> Pass:
    rows = [(codes.asked[i : i + 1], codes.given[i : i + 1]) for i in range(len(codes.asked))]
    return lambda: np.array([seconds_of(lambda q=q, e=e: conditional(q, e)) for q, e in rows])  # type: ignore[misc]


def _per_query(one_pass: Pass, n: int) -> Pass:
    return lambda: one_pass() / n
