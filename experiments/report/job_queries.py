"""The KL of every query, job by job: from the runs that are here, else as kept with the reference.

One line a job keeps five hundred jobs of a hundred queries in half a megabyte. Both sources are
read to the same digits, so that an interval does not depend on where it is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.records.rows import Store

NAME = "job_queries.csv"
STUDIES = ("draws", "node_kinds")
"""Studies whose queries are kept this way; those of the main one are kept with their times."""
DIGITS = 5

Kls = Mapping[str, np.ndarray]
"""By the fingerprint of the job, in the order of the workload."""


def kl_by_job(rows: pd.DataFrame, results_dir: Path, folder: Path | None = None) -> Kls:
    """The KL of the queries of each of `rows`, where they are known.

    Arguments:
        rows: recorded rows.
        results_dir: the folder that holds `runs/`.
        folder: where the kept ones are; None = `reference/` of that folder.
    """
    known = _kept((results_dir / "reference" if folder is None else folder) / NAME)
    found = {}
    for experiment, key in rows[["experiment", "fingerprint"]].itertuples(index=False, name=None):
        table = Store.of(results_dir, experiment).read_queries(key)
        if table is not None and "kl" in table:
            found[key] = np.array([_short(value) for value in table["kl"]], dtype=np.float64)
        elif key in known:
            found[key] = known[key]
    return found


def keep(kls: Kls, folder: Path) -> None:
    """Write the queries of jobs to `folder`."""
    lines = [f"{key},{' '.join(_short(value) for value in kls[key])}" for key in sorted(kls)]
    (folder / NAME).write_text("\n".join(["fingerprint,kl", *lines, ""]), encoding="utf-8")


def as_queries(rows: pd.DataFrame, kls: Kls) -> pd.DataFrame:
    """One line per query, with the columns that say whose it is."""
    return pd.concat([pd.DataFrame(), *_parts(rows, kls)], ignore_index=True)


def _parts(rows: pd.DataFrame, kls: Kls) -> Iterator[pd.DataFrame]:
    who = ("fingerprint", "experiment", "dataset", "model", "seed")
    for row in rows.to_dict("records"):
        if row["fingerprint"] in kls:
            own = {name: row[name] for name in who}
            yield pd.DataFrame({"kl": kls[row["fingerprint"]]}).assign(**own)


def _kept(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return {
        key: np.array(values.split(), dtype=np.float64)
        for key, values in table[["fingerprint", "kl"]].itertuples(index=False, name=None)
    }


def _short(value: float) -> str:
    return f"{value:.{DIGITS}g}"
