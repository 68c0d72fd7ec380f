"""Log what MLflow has missed: `python -m experiments.sync`.

Jobs write their rows first and log after; where the tracking store was down, or where jobs of a
cluster leave logging to others, what it missed is in `results/runs/<study>/unlogged`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.records.sync import sync
from experiments.records.tracking import SQLITE, TrackingError, tracker


def main(arguments: Sequence[str] | None = None) -> int:
    """Close the runs of killed jobs and log what is missing; returns the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    options = _parser().parse_args(arguments)
    store = f"{SQLITE}{options.results}/mlflow.db"
    found = tracker(options.uri or os.environ.get("MLFLOW_TRACKING_URI") or store, options.results)
    try:
        found.check()
    except TrackingError as error:
        print(f"sync: {error}", file=sys.stderr)
        return 2
    print(f"{found.recover()} runs of killed jobs closed, {sync(found)} jobs logged")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.sync", description=__doc__)
    add = parser.add_argument
    add("--results", type=Path, default=Path("results"), help="folder that holds runs/")
    add("--uri", help="tracking store (default: MLFLOW_TRACKING_URI, else results/mlflow.db)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
