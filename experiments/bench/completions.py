"""Most probable completions of published networks: FSPN's `map` beside toulbar2, an exact solver.

The networks are those that pgmpy brings along, so nothing is downloaded. toulbar2's time is that of
`Solve`; building its problem is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bench.clock import Pass, Spread, interleave, ratio, seconds_of
from experiments.bench.options import Options
from fspn import FSPN, bn_to_fspn
from fspn.convert import BayesNet, read_bif

NEVER = 1e5
KNOWN = 5
"""One column in so many is evidence."""


@dataclass(frozen=True)
class Completed:
    """One network.

    Arguments:
        network: Its name.
        columns: The number of variables.
        fspn: Milliseconds of one completion by `map`.
        batch: Milliseconds per completion in a list of evidences.
        toulbar2: Milliseconds of its solver; None where it is not installed.
        over_fspn: How many times longer it takes.
        agree: Whether both found completions of the same probability on all evidences.
    """

    network: str
    columns: int
    fspn: Spread
    batch: Spread
    toulbar2: Spread | None
    over_fspn: Spread | None
    agree: bool | None


def measure_completions(name: str, options: Options) -> Completed:
    """Both solvers on the same evidences, in turns."""
    network = read_bif(network_file(name))
    model = bn_to_fspn(network).compile_kernels()
    rows = model.sample(options.slow, random_state=options.seed).to_dict("records")
    names = list(network.names)
    evidences: list[dict[Any, Any]] = [
        {column: row[column] for column in names[i % KNOWN :: KNOWN]} for i, row in enumerate(rows)
    ]
    model.map(evidences)
    contestants: dict[str, Pass] = {
        "fspn": lambda: np.array([seconds_of(partial(model.map, e)) for e in evidences]),
        "batch": lambda: np.array([seconds_of(lambda: model.map(evidences))]) / len(evidences),
    }
    agree = None
    if find_spec("pytoulbar2") is not None:
        agree = all(_agree(network, model, evidence) for evidence in evidences)
        contestants["toulbar2"] = lambda: np.array([solver(network, e)[1] for e in evidences])
    found = interleave(contestants, options.queries)
    times = {key: Spread.of(1e3 * rounds.mean(axis=1)) for key, rounds in found.items()}
    over = ratio(found["toulbar2"], found["fspn"]) if "toulbar2" in found else None
    return Completed(
        name, len(names), times["fspn"], times["batch"], times.get("toulbar2"), over, agree
    )


def network_file(name: str) -> Path:
    """A BIF file of the public collection, as installed with pgmpy."""
    found = find_spec("pgmpy")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the networks are those of pgmpy: pip install '.[dev]'")
    return Path(found.origin).parent / "utils" / "example_models" / f"{name}.bif.gz"


def solver(network: BayesNet, evidence: dict[Any, Any]) -> tuple[float, float]:
    """The logarithm of the best completion's probability by toulbar2, and its seconds."""
    import pytoulbar2

    problem = pytoulbar2.CFN(1e6, resolution=6, verbose=-1)
    names = [f"x{v}" for v in range(len(network.names))]
    for v, values in enumerate(network.values):
        problem.AddVariable(names[v], range(len(values)))
        if network.names[v] in evidence:
            known = values.index(evidence[network.names[v]])
            cost = np.where(np.arange(len(values)) == known, 0.0, NEVER)
            problem.AddFunction([names[v]], cost.tolist())
    for v, (parents, cpt) in enumerate(zip(network.parents, network.cpts, strict=True)):
        with np.errstate(divide="ignore"):
            cost = np.where(cpt > 0, -np.log(cpt), NEVER)
        problem.AddFunction([names[u] for u in (*parents, v)], cost.ravel().tolist())
    found: list[Any] = []
    seconds = seconds_of(lambda: found.append(problem.Solve()))
    return -float(found[0][1]), seconds


def _agree(network: BayesNet, model: FSPN, evidence: dict[Any, Any]) -> bool:
    joint = model.map(evidence)[1] * model.probability(evidence)
    return bool(
        abs(np.log(joint) - solver(network, evidence)[0]) < 1e-6 * len(network.names) + 1e-6
    )
