"""SQL conditions: the rows they mean, by DuckDB, and their probabilities, by enumeration."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.sql import Condition, UnsupportedSQL, read_condition, write_condition

duckdb = pytest.importorskip("duckdb", reason="the extra `tables` is not installed")

CONDITIONS = [
    "n > 2",
    "n >= 2 AND n < 4",
    "2 < n",
    "n <> 2",
    "n BETWEEN 1 AND 3",
    "n NOT BETWEEN 1 AND 3",
    "n IN (0, 4)",
    "n NOT IN (0, 4)",
    "n NOT IN (0, NULL)",
    "n = NULL",
    "n IS NULL",
    "n IS NOT NULL AND color = 'red'",
    "color IN ('red', 'blue') AND NOT n = 1",
    "NOT (color = 'red' AND n > 1)",
    "NOT (n > 1 OR color <> 'red')",
    "n = 1 OR n = 3 OR n > 3",
    "n = 1 OR color = 'red'",
    "n = 1 OR color = 'red' OR x > 0.5",
    "(n = 1 OR color = 'red') AND (x < 0 OR n > 2)",
    "x > -0.5 AND x <= 0.25",
    "x < 0 OR x > 1",
    "flag",
    "NOT flag AND n > 1",
    "flag IS TRUE OR color = 'green'",
    "n > 9",
    "TRUE",
    "FALSE OR n = 2",
    "SELECT count(*) FROM t WHERE n > 2 AND color = 'red'",
    "select count(*) from t",
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 5, 600).astype(float)
    n[rng.random(600) < 0.1] = np.nan
    color = rng.choice(np.array(["red", "green", "blue", None], dtype=object), 600)
    flag = np.where(np.isnan(n), True, n > 2) ^ (rng.random(600) < 0.2)
    return pd.DataFrame({"n": n, "color": color, "x": rng.normal(size=600), "flag": flag})


@pytest.fixture(scope="module")
def database(table):
    connection = duckdb.connect()
    connection.register("frame", table)
    connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    connection.execute("UPDATE t SET n = NULL WHERE isnan(n)")
    yield connection
    connection.close()


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_counts_the_rows_that_a_database_counts(table, database, text):
    query = text if text[:6].lower() == "select" else f"SELECT count(*) FROM t WHERE {text}"
    assert read_condition(text).count(table) == database.execute(query).fetchone()[0]


WHERE = [
    {"n": 2},
    {"n": (1, 3), "color": {"red", "blue"}},
    {"n": None, "flag": True},
    {"x": (None, 0.5), "color": None},
    {"x": (-0.25, np.inf)},
    {"x": pd.Interval(0, 1, closed="right"), "n": pd.Interval(1, 3, closed="neither")},
    {"n": (None, None)},
    {"color": set()},
]


@pytest.mark.parametrize("where", WHERE, ids=range(len(WHERE)))
def test_a_dictionary_written_as_sql_means_the_same(table, database, where):
    text = write_condition(where)
    count = database.execute(f"SELECT count(*) FROM t WHERE {text}").fetchone()[0]
    assert Condition.of_question(where).count(table) == count
    assert read_condition(text).count(table) == count


def test_quotes_in_names_and_labels_survive():
    table = pd.DataFrame({'a "b"': ["it's", "x"]})
    assert read_condition(write_condition({'a "b"': "it's"})).count(table) == 1


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("n + 1 > 2", "n + 1 > 2"),
        ("n > x", "x"),
        ("color LIKE 'r%'", "LIKE"),
        ("color > 'red'", "color > 'red'"),
        ("n IN (SELECT n FROM u)", "SELECT n FROM u"),
        ("SELECT sum(n) FROM t WHERE n > 1", "SUM"),
        ("SELECT count(*) FROM t JOIN u ON t.n = u.n", "JOIN"),
        ("SELECT count(*) FROM t WHERE n > 1 GROUP BY color", "GROUP BY"),
        ("n >", "n >"),
        (" OR ".join(f"(n = {i} AND x > {i})" for i in range(9)), "n = 8"),
    ],
)
def test_what_cannot_be_taken_is_shown(text, part):
    with pytest.raises(UnsupportedSQL) as error:
        read_condition(text)
    assert part in str(error.value)


@pytest.fixture(scope="module")
def model(table):
    return FSPN(random_state=0).fit(table)


@pytest.mark.parametrize("text", CONDITIONS)
def test_probabilities_are_sums_over_the_model_own_cells(model, text):
    """The condition on every combination of values, weighted by its probability."""
    states = pd.MultiIndex.from_product(
        [range(6), range(4), [False, True]], names=["n", "color", "flag"]
    ).to_frame(index=False)
    states["n"] = states["n"].where(states["n"] < 5)
    states["color"] = states["color"].map(dict(enumerate(["blue", "green", "red"])))
    cuts = [-np.inf, -0.5, 0.0, 0.25, 0.5, 1.0, np.inf]
    expected = 0.0
    for low, high in pairwise(cuts):
        inside = states.assign(x=np.clip((max(low, -9) + min(high, 9)) / 2, -9, 9))
        rows = [dict(row, x=(low, high)) for row in states.to_dict("records")]
        chosen = read_condition(text).holds(inside)
        expected += float(np.dot(chosen, model.probability(rows)))
    assert model.probability(text) == pytest.approx(expected, abs=1e-12)


def test_strings_lists_and_conditionals(model):
    texts = ["n > 2 AND color = 'red'", "n = 1 OR color = 'red'"]
    several = model.probability(texts)
    assert [model.probability(text) for text in texts] == pytest.approx(list(several), abs=1e-15)
    assert several[0] == pytest.approx(
        model.probability({"n": pd.Interval(2, np.inf, closed="neither"), "color": "red"})
    )
    assert model.conditional("n > 2", "color = 'red'") == pytest.approx(
        model.conditional({"n": (3, 4)}, {"color": "red"})
    )
    with pytest.warns(RuntimeWarning, match="probability zero"):
        assert np.isnan(model.conditional("n > 2", "color = 'pink'"))
    with pytest.raises(KeyError, match="nowhere"):
        model.probability("nowhere = 1")
