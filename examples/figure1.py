"""The paper's Figure 1, learned: a table of four columns, the recipe, and the picture of the model.

    python examples/figure1.py                   # writes figure1.svg
    python examples/figure1.py --out figure1.png

X2 is about 2 X1; both depend on whether X3 is above 5. The rows fall into two clusters, in each of
which X3 and X4 are independent. The recipe finds a factorize node over the sum of two products (X3
and X4) and over a split of X3 into two multi-leaves (X1 and X2).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from fspn import FSPN, draw


def make_table(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Rows in the manner of the paper's Figure 1, which prints five of them."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.3
    x3 = np.where(
        first,
        rng.choice(np.arange(3, 9), n, p=[0.25, 0.25, 0.2, 0.1, 0.1, 0.1]),
        rng.choice(np.arange(3, 9), n, p=[0.05, 0.05, 0.1, 0.25, 0.25, 0.3]),
    )
    x4 = np.where(first, rng.normal(17, 1.5, n), rng.normal(4, 1.5, n)).clip(0).round(1)
    rising = np.arange(1, 11) / 55
    x1 = np.where(x3 <= 5, rng.choice(10, n, p=rising[::-1]), rng.choice(10, n, p=rising))
    x2 = (2 * x1 + rng.normal(0.8, 0.3, n)).round(1)
    return pd.DataFrame({"X1": x1, "X2": x2, "X3": x3, "X4": x4})


def learn(table: pd.DataFrame, seed: int) -> FSPN:
    """The recipe; X2 and X4 are rounded, but they are reals."""
    kinds = {"X2": "continuous", "X4": "continuous"}
    return FSPN(preset="paper", kinds=kinds, random_state=seed).fit(table)


def main() -> None:
    """Learn and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figure1.svg"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = make_table(seed=options.seed)
    model = learn(table, options.seed)
    draw(model, options.out)
    print(f"{model.n_nodes_} nodes, drawn to {options.out}")
    print(f"Pr(X1 in [1, 7], X3 in [3, 6]) = {model.probability({'X1': (1, 7), 'X3': (3, 6)}):.3f}")


if __name__ == "__main__":
    main()
