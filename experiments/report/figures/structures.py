"""Pictures of the learned FSPNs, from models that were saved beside the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.report.figures.style import Picture, inline_svg
from experiments.report.tables.gaps import Gap

LABELS = {"fspn": "FSPN", "fspn_paper": "the paper's recipe"}
"""The models that are drawn."""


def structure_pictures(
    sources: Sequence[Path], datasets: Iterable[str], folder: Path, model: str = "fspn"
) -> tuple[list[Picture], list[Gap]]:
    """The structure of `models/<dataset>-<model>.fspn` for every dataset that has one.

    Arguments:
        sources: folders that may hold `models/`; the first that has a model counts.
        datasets: names of datasets.
        folder: where the pictures go.
        model: one of `LABELS`.
    """
    pictures: list[Picture] = []
    gaps: list[Gap] = []
    label = LABELS[model]
    models = {dataset: _find(sources, dataset, model) for dataset in datasets}
    absent = [dataset for dataset, path in models.items() if path is None]
    if absent:
        why = f"no saved model in models/<dataset>-{model}.fspn"
        gaps.append(Gap(f"structure of {label} on {', '.join(absent)}", why))
    for dataset, path in models.items():
        if path is None:
            continue
        try:
            pictures.append(figure_structure(path, dataset, folder, model))
        except (ImportError, OSError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            gaps.append(Gap(f"structure of {label} on {dataset}", why))
    return pictures, gaps


def _find(sources: Sequence[Path], dataset: str, model: str) -> Path | None:
    paths = [source / "models" / f"{dataset}-{model}.fspn" for source in sources]
    return next((path for path in paths if path.is_file()), None)


def figure_structure(path: Path, dataset: str, folder: Path, model: str) -> Picture:
    """Draw one saved model, as in the paper's Figure 1."""
    from fspn import FSPN, draw

    loaded = FSPN.load(path)
    name = f"structure_{dataset}" if model == "fspn" else f"structure_{dataset}_{model}"
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "pdf", "png"):
        draw(loaded, folder / f"{name}.{kind}")
    svg = inline_svg((folder / f"{name}.svg").read_text(encoding="utf-8"), name)
    caption = f"What {LABELS[model]} learned on {dataset}: {loaded.n_nodes_:,} nodes."
    return Picture(name, f"Structure of {LABELS[model]} on {dataset}", caption, svg)
