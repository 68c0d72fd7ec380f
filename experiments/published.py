"""Rivals at their published settings on the binary benchmarks, beside the published likelihoods.

    python -m experiments.published --models spn_btb,ecnet --datasets nltcs,plants
    python -m experiments.published --show          # the table of what was recorded, no training

Every result is appended to `results/published.csv` as it comes, so that a run may be ended at any
time; what is recorded is not run again unless `--force` is given. Settings are those of
`conf/published/<model>.yaml`, others come by `--set`; of several results of one model on one
benchmark (`tries` of that file, or further runs) the best on the validation rows counts, no test
value takes part in any choice.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from baselines.registry import build_model
from experiments.datasets import load
from experiments.report.paper import TABLE1_NAMES, load_paper

CONF = Path(__file__).resolve().parents[1] / "conf"
RECORD = Path("results/published.csv")
TOLERANCE = 0.005
NARROW_FIRST = (
    "nltcs", "msnbc", "plants", "dna", "jester", "baudio", "bnetflix", "accidents", "tretail",
    "kosarek", "kdd", "msweb", "pumsb_star", "cwebkb", "bbc", "tmovie", "book", "cr52", "ad",
    "c20ng",
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """One model on one benchmark."""

    model: str
    dataset: str
    valid_ll: float
    test_ll: float
    seconds: float
    settings: str


def published_of(model: str) -> dict[str, Any]:
    """The published settings of a model, and its column of Table 1."""
    path = CONF / "published" / f"{model}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in path.parent.glob("*.yaml"))
        raise SystemExit(f"no published settings of {model!r}; there are: {', '.join(known)}")
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def settings_of(model: str, dataset: str, more: dict[str, Any]) -> list[dict[str, Any]]:
    """All settings to try: the model's, the published ones, each of the tries, those given.

    The tries are those of all benchmarks and, under `further`, those of this one.
    """
    about = published_of(model)
    own = yaml.safe_load((CONF / "model" / f"{model}.yaml").read_text())
    own |= about["settings"].get(dataset, {})
    tries = about.get("tries", [{}]) + about.get("further", {}).get(dataset, [])
    return [own | one | more for one in tries]


def described(settings: dict[str, Any], seed: int = 0) -> str:
    """Settings as they are recorded, with a seed other than the usual 0."""
    used = {k: v for k, v in settings.items() if k not in ("name", "_target_")}
    used |= {"seed": seed} if seed else {}
    return yaml.safe_dump(used, default_flow_style=True, width=1000)


def run(model: str, dataset: str, seed: int, settings: dict[str, Any]) -> Found:
    """Fits a model and scores the test rows."""
    source = yaml.safe_load((CONF / "dataset" / "debd.yaml").read_text())
    folder = _folder(source["folder"])
    data = load(source | {"name": dataset, "folder": folder}, seed, Path("data/cache"))
    fitted = build_model(settings)
    fitted.bind(data)
    started = time.perf_counter()
    fitted.fit(data.train, data.domains, seed)
    seconds = time.perf_counter() - started
    valid, test = (float(fitted.score_samples(t).mean()) for t in (data.valid, data.test))
    return Found(model, dataset, valid, test, seconds, described(settings, seed))


def _folder(expression: str) -> str:
    """The folder of the benchmarks: `${oc.env:NAME,default}` as Hydra would read it."""
    from omegaconf import OmegaConf

    return str(OmegaConf.create({"folder": expression}).folder)


def record(found: Found) -> None:
    """Appends a result."""
    RECORD.parent.mkdir(exist_ok=True)
    line = pd.DataFrame([found])
    line.to_csv(RECORD, mode="a", header=not RECORD.exists(), index=False)


def all_recorded() -> pd.DataFrame:
    """Every result."""
    if not RECORD.exists():
        return pd.DataFrame(columns=[f.name for f in fields(Found)])
    return pd.read_csv(RECORD)


def recorded() -> pd.DataFrame:
    """Of every model and benchmark the result with the highest validation likelihood."""
    rows = all_recorded().sort_values("valid_ll", kind="stable")
    return rows.drop_duplicates(["model", "dataset"], keep="last")


def table(rows: pd.DataFrame) -> str:
    """Ours beside the published values; a star where ours is within 0.5% or better."""
    paper = load_paper().table1.set_index("dataset")
    lines = []
    for model, mine in rows.groupby("model"):
        about = published_of(str(model))
        column, left_out = about["column"], about.get("left_out", [])
        lines += ["", f"{model} beside {column}", f"{'':12}{'ours':>9}{'published':>11}"]
        reached = compared = 0
        for dataset, name in TABLE1_NAMES.items():
            found = mine[mine["dataset"] == dataset]
            if found.empty:
                continue
            ours, theirs = float(found["test_ll"].iloc[0]), float(paper.loc[name, column])
            usable = theirs == theirs and name not in left_out
            good = usable and ours >= theirs - TOLERANCE * abs(theirs)
            reached, compared = reached + good, compared + usable
            mark = "*" if good else "" if usable else "(left out)"
            seconds = float(found["seconds"].iloc[0])
            lines.append(f"{name:12}{ours:9.2f}{theirs:11.2f} {mark:10} {seconds:7.0f} s")
        lines.append(f"within 0.5% or better: {reached} of {compared}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is asked for and not yet recorded, then prints the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--models", default="spn_btb")
    parser.add_argument("--datasets", default=",".join(NARROW_FIRST))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="another setting, key=value")
    parser.add_argument("--force", action="store_true", help="also what is recorded")
    parser.add_argument("--show", action="store_true", help="run nothing")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    more = {key: yaml.safe_load(value) for key, _, value in (s.partition("=") for s in options.set)}
    done = {tuple(key) for key in all_recorded()[["model", "dataset", "settings"]].to_numpy()}
    for model in [] if options.show else options.models.split(","):
        for dataset in options.datasets.split(","):
            for settings in settings_of(model, dataset, more):
                what = described(settings, options.seed)
                if (model, dataset, what) in done and not options.force:
                    continue
                found = run(model, dataset, options.seed, settings)
                record(found)
                print(
                    f"{model} {dataset}: test {found.test_ll:.3f}, {found.seconds:.0f} s",
                    flush=True,
                )
    print(table(recorded()))


if __name__ == "__main__":
    main()
