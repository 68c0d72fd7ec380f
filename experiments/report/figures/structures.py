"""Pictures of the learned FSPNs, from models that were saved beside the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.report.figures.style import Picture, inline_svg
from experiments.report.tables.gaps import Gap


def structure_pictures(
    sources: Sequence[Path], datasets: Iterable[str], folder: Path
) -> tuple[list[Picture], list[Gap]]:
    """The structure of `models/<dataset>-fspn.fspn` for every dataset that has one.

    Arguments:
        sources: folders that may hold `models/`; the first that has a model counts.
        datasets: names of datasets.
        folder: where the pictures go.
    """
    pictures: list[Picture] = []
    gaps: list[Gap] = []
    models = {dataset: _find(sources, dataset) for dataset in datasets}
    absent = [dataset for dataset, path in models.items() if path is None]
    if absent:
        why = "no saved model in models/<dataset>-fspn.fspn"
        gaps.append(Gap(f"structure of FSPN on {', '.join(absent)}", why))
    for dataset, path in models.items():
        if path is None:
            continue
        try:
            pictures.append(figure_structure(path, dataset, folder))
        except (ImportError, OSError, ValueError) as error:
            gaps.append(Gap(f"structure of FSPN on {dataset}", f"{type(error).__name__}: {error}"))
    return pictures, gaps


def _find(sources: Sequence[Path], dataset: str) -> Path | None:
    paths = [source / "models" / f"{dataset}-fspn.fspn" for source in sources]
    return next((path for path in paths if path.is_file()), None)


def figure_structure(path: Path, dataset: str, folder: Path) -> Picture:
    """Draw one saved model, as in the paper's Figure 1."""
    from fspn import FSPN, draw

    model = FSPN.load(path)
    name = f"structure_{dataset}"
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "pdf", "png"):
        draw(model, folder / f"{name}.{kind}")
    svg = inline_svg((folder / f"{name}.svg").read_text(encoding="utf-8"), name)
    caption = f"The FSPN learned on {dataset}: {model.n_nodes_:,} nodes."
    return Picture(name, f"Structure on {dataset}", caption, svg)
