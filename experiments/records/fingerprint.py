"""What makes two jobs the same: settings, data, and the code that the result depends on."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.types import Dataset

ROOT = Path(__file__).resolve().parents[2]
TRUTH_ROWS = 1_000
PACKAGES = ("fspn", "baselines", "experiments")
MEASURES = (
    "experiments.study.search",
    "experiments.measures.evaluate",
    "experiments.datasets.truth",
)
# How results are locked or written, how data came about, and what is refused or warned of cannot
# change what they are.
BYSTANDERS = frozenset(
    {
        "experiments.records.locks",
        "experiments.records.rows",
        "experiments.datasets",
        "fspn.schema.caution",
        "fspn.schema.refusals",
    }
)

# Imports that a model's results cannot depend on, though its modules are reached by them: a model
# that is converted to an FSPN is asked by the estimator and never learned by it, and the paper's
# recipe never enters the default learner but to ask whether it is meant, nor the search for
# networks unless they are its multi-leaves. Nor does a tree SPN, whose thresholds rule both out.
# Tables of two values never enter the learner of sum nodes over more.
# tests/contract/test_code_version.py watches the calls.
LEARNED_BY_FSPN = (
    "baselines.ours",
    "baselines.estimators.fspn_estimator",
    "experiments",
)
RECIPE, TREE_SPN = "FSPNPaper", "SPNTree"
TWO_VALUED = "debd"
"""The family of datasets whose columns all have two values."""
Imports = frozenset[tuple[str, str]]
ENTRIES = ("fspn.learn.fit", "fspn.learn.settings")
NOT_CONVERTED: Imports = frozenset({("fspn.estimator", "fspn.learn")})
NOT_POOLED: Imports = frozenset((entry, "fspn.learn.pools") for entry in ENTRIES)
NOT_MIXED: Imports = frozenset((entry, "fspn.learn.mixture") for entry in ENTRIES)
NOT_BY_SCORE = NOT_POOLED | NOT_MIXED
NO_NETWORKS: Imports = frozenset(
    {("fspn.learn.leaves", "fspn.learn.network"), ("fspn.learn.gains", "fspn.learn.network")}
)
NOT_THE_RECIPE = NOT_BY_SCORE | {
    ("fspn.learn.fit", "fspn.learn.keep_marginals"),
    ("fspn.learn.fit", "fspn.learn.missing_patterns"),
}
NETWORK_LEAVES = "tree"
"""The multi-leaves of the recipe that are networks."""
OF_POOLS: Mapping[str, frozenset[str]] = {
    "fspn.learn.fit": frozenset({"_network", "_two_valued", "_few_valued"}),
    "fspn.learn.settings": frozenset(
        {"resolve_pools", "POOL_MAX_PARENTS", "POOL_MAX_CELLS", "STRENGTHS"}
    ),
}
"""Definitions that serve the search in pools alone, in modules that serve others too."""
HARMLESS = ("refuse_", "warn_")
"""Functions that raise or warn and do nothing else (`fspn.schema.refusals`, tested to be so).

A call of one as a statement of its own changes no answer: such calls, and imports of nothing but
such functions, do not count."""
GUARDS: Mapping[str, frozenset[str]] = {
    "fspn.engine.kernels": frozenset(
        {"MAX_LEVELS", "MOST_CELLS", "_walk_shape", "state_words", "new_state", "count_cells"}
    ),
    "fspn.validate.domain": frozenset({"MAX_LEVELS", "table_faults"}),
}
"""How large scratch space is, and what is refused since it would not fit: no answer depends on it.

What these definitions are is tested on their own (tests/fspn/engine/test_many_levels.py)."""


def fingerprint(settings: Mapping[str, Any], data: str, code: str) -> str:
    """A name for the job that changes whenever its result could."""
    text = json.dumps([settings, data, code], sort_keys=True, default=str)
    return _digest(text)


def code_version(target: str, family: str = "", multi_leaf: str = "") -> str:
    """Digest of the code behind a model's results.

    It covers every module of this project that the model's class or the measures import,
    directly or not; comments, docstrings and formatting do not count. How a dataset was made is
    left to `data_digest`, which looks at the data themselves. Learners of FSPN that the model never
    enters do not count either (`unused_imports`).

    Arguments:
        target: dotted path of the model class, e.g. `baselines.independent.Independent`.
        family: the family of the dataset that the model is learned from.
        multi_leaf: the recipe's multi-leaves, where they are not its own.
    """
    roots = frozenset({target.rpartition(".")[0], *MEASURES})
    unused = unused_imports(target, family, multi_leaf)
    of_pools = OF_POOLS if unused >= NOT_POOLED else {}
    left_out = {
        name: GUARDS.get(name, frozenset()) | of_pools.get(name, frozenset())
        for name in {*GUARDS, *of_pools}
    }
    digests = (
        f"{name}:{_source_digest(name, left_out.get(name, frozenset()))};"
        for name in sorted(_closure(roots, unused))
    )
    return _digest("".join(digests))


def unused_imports(target: str, family: str = "", multi_leaf: str = "") -> Imports:
    """Pairs (module, package that it imports) through which nothing reaches a model's results.

    Arguments:
        target: dotted path of the model class.
        family: the family of the dataset.
        multi_leaf: the recipe's multi-leaves, where they are not its own.
    """
    name = target.rpartition(".")[2]
    if not target.startswith(LEARNED_BY_FSPN):
        return NOT_CONVERTED
    if name.startswith(RECIPE):
        return NOT_THE_RECIPE if multi_leaf == NETWORK_LEAVES else NOT_THE_RECIPE | NO_NETWORKS
    if name == TREE_SPN:
        return NOT_BY_SCORE | NO_NETWORKS
    return NOT_MIXED if family == TWO_VALUED else frozenset()


def data_digest(dataset: Dataset) -> str:
    """Digest of what a dataset holds: rows, domains, queries, and the truth on the test rows."""
    if dataset.counting is not None:
        return dataset.digest
    digest = hashlib.sha256(dataset.digest.encode())
    for table in (dataset.train, dataset.valid, dataset.test):
        digest.update(json.dumps([list(map(str, table.columns)), table.shape]).encode())
        digest.update(np.ascontiguousarray(table.to_numpy()).tobytes())
    digest.update(repr([(c, d.tolist()) for c, d in dataset.domains.items()]).encode())
    digest.update(repr(dataset.workload).encode())
    if dataset.truth is not None:
        truth = dataset.truth.log_probability(dataset.test.head(TRUTH_ROWS))
        digest.update(np.round(truth, 6).tobytes())
    return digest.hexdigest()[:16]


@cache
def data_code() -> str:
    """Digest of the code that makes and reads datasets."""
    files = sorted((ROOT / "experiments" / "datasets").glob("*.py"))
    names = [f"experiments.datasets.{file.stem}" for file in files if file.stem != "__init__"]
    return _digest("".join(f"{name}:{_source_digest(name)};" for name in names))


@cache
def commit() -> str:
    """The git commit, with `+` if a file outside `results/` was changed; empty outside git."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return (
        head + "+"
        if head and _git("status", "--porcelain", "-uno", "--", ":/", ":!/results")
        else head
    )


@cache
def _closure(roots: frozenset[str], unused: Imports = frozenset()) -> frozenset[str]:
    seen: set[str] = set()
    todo = sorted(roots)
    while todo:
        name = todo.pop()
        if name in seen or name in BYSTANDERS or _path(name) is None:
            continue
        seen.add(name)
        left_out = tuple(package for module, package in unused if module == name)
        todo.extend(found for found in _imports(name) if not _is_inside(found, left_out))
    return frozenset(seen)


def _is_inside(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _imports(name: str) -> Iterator[str]:
    """Modules of this project that module `name` imports anywhere, and its parent packages."""
    yield from _parents(name)
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not _is_harmless(node):
            base = _base(name, node)
            found = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for module in found:
            if module.split(".")[0] in PACKAGES:
                yield module
                yield from _parents(module)


def _base(name: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    path = _path(name)
    drop = node.level - (path is not None and path.name == "__init__.py")
    parts = name.split(".")
    package = parts[: len(parts) - drop]
    return ".".join([*package, *([node.module] if node.module else [])])


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for end in range(1, len(parts)):
        yield ".".join(parts[:end])


def _path(name: str) -> Path | None:
    stem = ROOT.joinpath(*name.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _tree(name: str) -> ast.Module:
    path = _path(name)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def _source_digest(name: str, left_out: frozenset[str] = frozenset()) -> str:
    tree = _without_refusals(_without_docstrings(_tree(name)))
    tree.body = [statement for statement in tree.body if not _defines(statement) & left_out]
    return _digest(ast.dump(tree))


def _without_refusals(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list):
                kept = [each for each in statements if not _is_harmless(each)]
                setattr(node, part, kept if kept or part != "body" else [ast.Pass()])
    return tree


def _is_harmless(statement: ast.AST) -> bool:
    """Whether it only calls, or only imports, functions that raise or warn."""
    if isinstance(statement, ast.ImportFrom):
        return all(alias.name.startswith(HARMLESS) for alias in statement.names)
    call = statement.value if isinstance(statement, ast.Expr) else None
    called = call.func if isinstance(call, ast.Call) else None
    return isinstance(called, ast.Name) and called.id.startswith(HARMLESS)


def _defines(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module defines or imports."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign):
        targets = [node for target in statement.targets for node in ast.walk(target)]
        return {node.id for node in targets if isinstance(node, ast.Name)}
    return set()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    copy = ast.parse(ast.unparse(tree))
    for node in ast.walk(copy):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not body:
            continue
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            node.body = body[1:] or [ast.Pass()]
    return copy


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
