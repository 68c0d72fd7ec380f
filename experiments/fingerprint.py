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

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("fspn", "baselines", "experiments")
MEASURES = "experiments.job"
# How a job is started, drawn, locked or logged cannot change what it measures.
BYSTANDERS = frozenset(
    f"experiments.{name}"
    for name in ("config", "fingerprint", "locks", "overrides", "records", "tracking")
)


def fingerprint(settings: Mapping[str, Any], dataset_digest: str, code: str) -> str:
    """A name for the job that changes whenever its result could."""
    text = json.dumps([settings, dataset_digest, code], sort_keys=True, default=str)
    return _digest(text)


def code_version(target: str) -> str:
    """Digest of the code behind a model's results.

    It covers every module of this project that the model's class or the measuring job imports,
    directly or not. Comments, docstrings and formatting do not count.

    Arguments:
        target: dotted path of the model class, e.g. `baselines.independent.Independent`.
    """
    modules = _closure(frozenset({target.rpartition(".")[0], MEASURES}))
    return _digest("".join(f"{name}:{_source_digest(name)};" for name in sorted(modules)))


@cache
def commit() -> str:
    """The git commit of the working tree, with `+` if it was changed; empty outside git."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return head + "+" if head and _git("status", "--porcelain", "-uno") else head


@cache
def _closure(roots: frozenset[str]) -> frozenset[str]:
    seen: set[str] = set()
    todo = sorted(roots)
    while todo:
        name = todo.pop()
        if name in seen or name in BYSTANDERS or _path(name) is None:
            continue
        seen.add(name)
        todo.extend(_imports(name))
    return frozenset(seen)


def _imports(name: str) -> Iterator[str]:
    """Modules of this project that module `name` imports anywhere, and its parent packages."""
    yield from _parents(name)
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
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
def _source_digest(name: str) -> str:
    return _digest(ast.dump(_without_docstrings(_tree(name))))


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
