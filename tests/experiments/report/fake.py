"""Invented rows in the recorded schema: obviously not measurements, for tests only."""

import pandas as pd

from experiments.records.rows import ResultRow, as_frame

LEVELS = {"07": 0.07, "21": 0.21, "37": 0.37, "65": 0.65, "83": 0.83, "95": 0.95}
# model: (KL, ms, batched ms, nodes, bytes, seconds) at the first level, and growth per level
MODELS = {
    "mspn": (2e-4, 1.0, 0.5, 21, 6_000, 2.0, 3.0),
    "bn_dag": (2e-4, 1.5, 1.2, 20, 6_000, 2.0, 1.6),
    "bn_tree": (3e-4, 0.9, 0.8, 20, 5_000, 1.0, 1.5),
    "fspn": (2e-4, 0.01, 0.001, 21, 4_000, 1.0, 1.2),
    "fspn_paper": (2e-4, 0.02, 0.004, 21, 5_000, 1.5, 2.0),
    "true_dag": (1.5e-4, 1.0, 0.9, 20, 8_000, 0.5, 1.1),
    "independent": (2e-4, 0.01, 0.01, 21, 4_000, 0.1, 1.02),
}


def row(model="fspn", level="65", seed=0, experiment="reproduce", prefix="rdc", **changes):
    kl, ms, batch, nodes, size, seconds, growth = MODELS[model]
    factor = growth ** list(LEVELS).index(level) * (1 + 0.1 * seed)
    nodes_here = nodes if model in ("bn_dag", "bn_tree", "true_dag") else round(nodes * factor)
    values = {
        "fingerprint": f"fake-{experiment}-{prefix}-{level}-{model}-{seed}",
        "experiment": experiment,
        "label": f"{prefix}_{level}/{model}/{seed}",
        "dataset": f"{prefix}_{level}",
        "family": {"rdc": "sparse"}.get(prefix, prefix),
        "seed": seed,
        "model": model,
        "engine": "fake engine",
        "target_rdc": LEVELS[level],
        "measured_rdc": LEVELS[level] + 0.003,
        "kl_mean": kl * factor * (1 if model != "independent" else 30),
        "kl_median": kl * factor / 2,
        "kl_p95": kl * factor * 3,
        "kl_max": kl * factor * 9,
        "kl_se": kl * factor / 10,
        "kl_floored": 0.0,
        "n_queries": 100.0,
        "latency_single_ms": ms * factor,
        "latency_batch_ms": batch * factor,
        "n_nodes": float(nodes_here),
        "n_parameters": size / 8,
        "size_bytes": size * factor,
        "train_seconds": seconds * factor,
        "test_ll": -30.0,
        "code_version": "fake",
        "machine": "no machine, these rows are invented",
        "started_at": "2000-01-01T00:00:00",
        "command": "invented",
    }
    return ResultRow(**{**values, **changes})


def study(models=tuple(MODELS), levels=tuple(LEVELS), seeds=(0,), **more):
    return [row(m, lev, s, **more) for m in models for lev in levels for s in seeds]


def thresholds(level="95"):
    return [
        row(
            "fspn_paper",
            level,
            experiment="thresholds",
            label=f"rdc_{level}/{low}/{high}",
            fingerprint=f"fake-thresholds-{level}-{low}-{high}",
            tau_low=low,
            tau_high=high,
            kl_mean=0.01 * (1 + low) / high,
            n_nodes=20.0 + 400 * high / low,
            latency_single_ms=0.01 * (20.0 + 400 * high / low) ** 0.9,
        )
        for low in (0.05, 0.1, 0.2, 0.3, 0.5)
        for high in (0.5, 0.7, 0.9, 1.1)
        if low <= high
    ]


def benchmark(name, model, test_ll, **changes):
    values = {
        "fingerprint": f"fake-{name}-{model}",
        "experiment": "table1",
        "label": f"{name}/{model}/0",
        "dataset": name,
        "family": "debd",
        "seed": 0,
        "model": model,
        "test_ll": test_ll,
    }
    return ResultRow(**{**values, **changes})


def everything():
    return [
        *study(seeds=(0, 1, 2)),
        *study(experiment="smooth", prefix="smooth"),
        *thresholds("95"),
        *thresholds("65"),
        benchmark("nltcs", "fspn", -6.00),
        benchmark("nltcs", "bn_tree", -6.76),
        benchmark("plants", "fspn", -12.5),
    ]


def frame(rows) -> pd.DataFrame:
    return as_frame(rows).assign(source="fake", other_code=False, other_node=False)
