"""The leaf and table families, by name: one registration makes a family known everywhere.

A family written outside the package is learned, saved, loaded, validated, sampled, drawn and
queried once it is registered:

    @register
    class Poisson(Univariate):
        family = "poisson"
        ...
"""

from __future__ import annotations

from typing import TypeVar

from fspn.model.leaves.base import Family, Multivariate, Univariate

F = TypeVar("F", bound=type[Family])

_FAMILIES: dict[str, type[Family]] = {}


def register(family: F) -> F:
    """Make a family known under its name; as a decorator or a call.

    Registering the same class again (a reloaded module or notebook cell) replaces it; two classes
    of one name are refused, because a stored model would not say which one it means.
    """
    if not (isinstance(family, type) and issubclass(family, Family)):
        raise TypeError(
            f"{family!r} must be a subclass of fspn.model.leaves.base.Univariate or Multivariate"
        )
    name = getattr(family, "family", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f"{family.__name__} needs a class attribute family = '<its name>'")
    missing = sorted(getattr(family, "__abstractmethods__", ()))
    if not _writes(family, "from_state", Family):
        missing.append("from_state")
    if missing:
        raise TypeError(f"{family.__name__} lacks {', '.join(missing)}")
    known = _FAMILIES.get(name, family)
    if (known.__module__, known.__qualname__) != (family.__module__, family.__qualname__):
        raise ValueError(f"the name {name!r} is taken by {known.__module__}.{known.__qualname__}")
    _FAMILIES[name] = family
    return family


def family_named(name: str) -> type[Family]:
    """A family by its name."""
    if name not in _FAMILIES:
        raise KeyError(
            f"no leaf family {name!r}; known are {sorted(_FAMILIES)}. A family of your own must be "
            "registered (fspn.model.leaves.registry.register) before a model that uses it is loaded"
        )
    return _FAMILIES[name]


def is_registered(family: type[Family]) -> bool:
    """Whether models with this family can be stored."""
    return _FAMILIES.get(getattr(family, "family", "")) is family


def learned_from_reals() -> list[type[Univariate]]:
    """The registered families that can be fitted to a column of reals."""
    found = [f for f in _FAMILIES.values() if issubclass(f, Univariate)]
    return [f for f in found if _writes(f, "fit_reals", Univariate)]


def learned_from_codes() -> dict[str, type[Multivariate]]:
    """The registered families that can be fitted to rows of codes, by name."""
    return {
        name: f
        for name, f in _FAMILIES.items()
        if issubclass(f, Multivariate) and _writes(f, "fit_codes", Multivariate)
    }


def _writes(family: type, method: str, base: type) -> bool:
    """Whether a class overrides a class method of its base."""
    return getattr(family, method).__func__ is not getattr(base, method).__func__
