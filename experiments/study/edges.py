"""Did a search end at an edge of what it tried? Then a wider one might have found better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.study.config import RANGES, SearchConfig


def at_edge(search: SearchConfig, chosen: Mapping[str, Any]) -> list[str]:
    """The keys whose chosen number is the smallest or largest of those that were to be tried.

    A number beyond which there is none (`model.tau_low` = 0) is no edge, nor is a word or null.

    >>> at_edge(SearchConfig({"alpha": [0.1, 1, 10], "min_rows": [1, 20]}),
    ...         {"alpha": 10, "min_rows": 1})
    ['alpha']
    """
    tried = {k: [*search.grid.get(k, ()), *search.then.get(k, ())] for k in _keys(search)}
    return [key for key in tried if _is_edge(key, tried[key], chosen.get(key))]


def _keys(search: SearchConfig) -> list[str]:
    return list(dict.fromkeys([*search.grid, *search.then]))


def _is_edge(key: str, values: Sequence[Any], value: Any) -> bool:
    numbers = sorted({v for v in values if _is_number(v)})
    if len(numbers) < 2 or not _is_number(value) or value in RANGES.get(f"model.{key}", ()):
        return False
    return bool(value <= numbers[0] or value >= numbers[-1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
