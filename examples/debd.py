"""Train an FSPN on a real table, keep it, load it, and ask it questions.

    python examples/debd.py                      # nltcs
    python examples/debd.py plants --out plants.fspn

The table is read from a folder of benchmarks (`--folder`, or the variable FSPN_DEBD_DIR); where
that does not hold it, a small table is made instead, so that the script always runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from fspn import FSPN

FOLDER = Path(os.environ.get("FSPN_DEBD_DIR", "../shared/data/debd"))


def read(name: str, folder: Path) -> dict[str, pd.DataFrame] | None:
    """The splits of a benchmark, from an npz file or from the public text files."""
    splits = ("train", "valid", "test")
    packed = folder / f"{name}.npz"
    texts = {s: folder / name / f"{name}.{s}.data" for s in splits}
    if packed.is_file():
        with np.load(packed) as file:
            return {s: _named(file[s]) for s in splits}
    if all(path.is_file() for path in texts.values()):
        return {s: _named(pd.read_csv(p, header=None).to_numpy()) for s, p in texts.items()}
    return None


def make(rows: int = 4_000, columns: int = 12, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Patients with a hidden condition: most answers follow it, some follow another answer."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.35
    bits = rng.random((rows, columns)) < np.where(ill, 0.75, 0.1)[:, None]
    bits[:, 1] = np.where(rng.random(rows) < 0.9, bits[:, 0], bits[:, 1])
    table = _named(bits.astype(np.uint8))
    cuts = rows // 2, rows * 3 // 4
    return {"train": table[: cuts[0]], "valid": table[cuts[0] : cuts[1]], "test": table[cuts[1] :]}


def _named(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


def train(splits: dict[str, pd.DataFrame]) -> FSPN:
    started = time.perf_counter()
    domains = {column: [0, 1] for column in splits["train"].columns}
    model = FSPN(random_state=0).fit(splits["train"], domains=domains)
    seconds = time.perf_counter() - started
    print(f"trained in {seconds:.1f} s: {model.n_nodes_} nodes, {model.size_bytes_:,} bytes")
    for split in ("train", "test"):
        print(f"log-likelihood per row, {split}: {model.score(splits[split]):.3f}")
    return model


def ask(model: FSPN, test: pd.DataFrame) -> None:
    """Evidence queries: what the other answers of real rows say about one of them."""
    first, second, *others = test.columns
    row = {c: int(v) for c, v in test.iloc[0].items()}
    evidence = {c: row[c] for c in others[:6]}
    said = ", ".join(f"{c}={v}" for c, v in evidence.items())
    print(f"Pr({first}=1) = {model.probability({first: 1}):.4f}")
    print(f"Pr({first}=1 | {said}) = {model.conditional({first: 1}, evidence):.4f}")
    table = model.conditional_table([first, second], evidence)
    print(f"Pr({first}, {second} | the same), rows {first}=0, 1:\n{np.round(table, 4)}")

    rows = test.head(100)
    given = [{c: int(r[c]) for c in others[:6]} for _, r in rows.iterrows()]
    started = time.perf_counter()
    answers = model.conditional([{first: 1}] * len(given), given)
    milliseconds = 1e3 * (time.perf_counter() - started) / len(given)
    right = np.mean((np.asarray(answers) > 0.5) == (rows[first].to_numpy() == 1))
    print(
        f"{len(given)} such queries, {milliseconds:.3f} ms each; {first} guessed right: {right:.0%}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="nltcs", help="which benchmark")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the benchmarks are")
    parser.add_argument("--out", type=Path, help="keep the model in this file")
    options = parser.parse_args(arguments)
    splits = read(options.name, options.folder)
    if splits is None:
        print(f"no {options.name} in {options.folder}: a small table is made instead")
        splits = make()
    print(f"{len(splits['train']):,} rows, {splits['train'].shape[1]} columns")
    model = train(splits)
    with tempfile.TemporaryDirectory() as folder:
        path = options.out or Path(folder) / "model.fspn"
        model.save(path)
        loaded = FSPN.load(path)
        print(f"saved and loaded: {path.stat().st_size:,} bytes")
    assert loaded.score(splits["test"]) == model.score(splits["test"])
    ask(loaded, splits["test"])


if __name__ == "__main__":
    main()
