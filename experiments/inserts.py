"""The command: `python -m experiments.inserts flights wages`: update, or learn anew?

The rows of a real table are put in the order in which they came about. A model of the first 80% is
asked about the whole table: as it is, after `update` with the last 20%, and beside a model that
learned all rows.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets.table import FAMILY, RealTableConfig, load_real_table
from experiments.datasets.table_sources import time_order
from experiments.measures.q_error import q_error, quantiles
from experiments.types import CountWorkload
from fspn import FSPN
from fspn.schema.infer import infer_domain

SHARE = 0.8
COLUMNS = ("table", "model", "seconds", "q_median", "q_p90", "q_p95", "q_p99", "q_max")


def compare(name: str, cache_dir: Path, rows: int = 0, **params: Any) -> pd.DataFrame:
    """Q-errors and seconds of the three models on one table.

    Arguments:
        name: a table of `experiments.datasets.table_sources`.
        cache_dir: folder of the questions and their true counts.
        rows: a random sample of so many rows; 0 for all.
        params: of every `FSPN`.
    """
    config = RealTableConfig.from_mapping({"name": name, "family": FAMILY, "rows": rows})
    dataset = load_real_table(config, 0, cache_dir)
    assert dataset.counting is not None
    table = dataset.train.iloc[time_order(name, dataset.train)].reset_index(drop=True)
    first, last = np.split(np.arange(len(table)), [int(SHARE * len(table))])
    known = known_values(table)
    old, seconds = _timed(lambda: FSPN(**params).fit(table.iloc[first], domains=known))
    lines = [_line(name, "first 80% only", old, seconds, dataset.counting)]
    moved, seconds = _timed(lambda: copy.deepcopy(old).update(table.iloc[last]))
    lines.append(_line(name, "updated", moved, seconds, dataset.counting))
    anew, seconds = _timed(lambda: FSPN(**params).fit(table))
    lines.append(_line(name, "learned anew", anew, seconds, dataset.counting))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def known_values(table: pd.DataFrame) -> dict[Hashable, list[Any]]:
    """The values of discrete columns, those to come included: a schema knows them."""
    discrete = [v.name for v in infer_domain(table) if v.kind not in ("continuous", "mixed")]
    return {name: table[name].dropna().unique().tolist() for name in discrete}


def _timed(make: Callable[[], FSPN]) -> tuple[FSPN, float]:
    started = time.perf_counter()
    model = make()
    return model, time.perf_counter() - started


def _line(
    table: str, name: str, model: FSPN, seconds: float, workload: CountWorkload
) -> Mapping[str, Any]:
    estimates = np.asarray(model.probability(list(workload.questions))) * workload.n_rows
    found = quantiles(q_error(estimates, workload.counts))
    return {"table": table, "model": name, "seconds": seconds, **found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare on the named tables; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m experiments.inserts", description=__doc__)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--rows", type=int, default=0, help="a sample of so many rows")
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    parser.add_argument("--out", type=Path, default=Path("results/tables/inserts.csv"))
    options = parser.parse_args(arguments)
    found = pd.concat([compare(name, options.cache, options.rows) for name in options.tables])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(options.out, index=False, float_format="%.4g")
    print(found.to_string(index=False, float_format="{:.4g}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
