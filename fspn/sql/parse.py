"""From SQL text to a condition, on sqlglot's syntax tree."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from fspn.sql.condition import Branch, Condition, Leaf, Tree
from fspn.sql.errors import UnsupportedSQL
from fspn.sql.sets import ALL_PRESENT, MISSING_ONLY, NOTHING, ColumnSet, Interval, any_of

if TYPE_CHECKING:
    from sqlglot import exp

TRUE = Branch(True, ())
FALSE = Branch(False, ())
FLIPPED = {"LT": "GT", "GT": "LT", "LTE": "GTE", "GTE": "LTE", "EQ": "EQ", "NEQ": "NEQ"}


def read_condition(text: str) -> Condition:
    """The condition of a WHERE clause, or of a whole ``SELECT count(*) FROM t WHERE ...``.

    >>> condition = read_condition("delay > 30 AND carrier IN ('UA', 'AA')")
    >>> sorted(condition.columns)
    ['carrier', 'delay']
    """
    return Condition.of_tree(_tree(_where(text)), text)


def _where(text: str) -> exp.Expression | None:
    """The syntax tree of the condition; None where every row counts."""
    try:
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
    except ImportError as error:
        raise ImportError(
            "questions in SQL need sqlglot: pip install 'fspn[sql]', or ask with a dictionary"
        ) from error
    is_query = text.lstrip().lower().startswith(("select", "with", "("))
    query = (
        text if is_query and "select" in text.lower() else f"SELECT count(*) FROM t WHERE {text}"
    )
    try:
        statements = sqlglot.parse(query)
    except SqlglotError as error:
        raise UnsupportedSQL(text, f"it is no SQL condition ({_first_line(error)})") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise UnsupportedSQL(text, "it is not one condition, nor one SELECT count(*)")
    return _checked_select(statements[0], text)


def _checked_select(select: exp.Select, text: str) -> exp.Expression | None:
    from sqlglot import exp

    counted = select.expressions
    if len(counted) != 1 or counted[0].unalias().sql().upper() not in ("COUNT(*)", "COUNT(1)"):
        raise UnsupportedSQL(_sql(select), "only SELECT count(*) has an answer here")
    for part, value in select.args.items():
        if value and part not in ("expressions", "from", "from_", "where", "kind"):
            shown = value[0] if isinstance(value, list) else value
            raise UnsupportedSQL(_sql(shown), "a query is one table with a WHERE condition")
    source = select.args.get("from") or select.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table) or source.this.args.get("joins"):
        raise UnsupportedSQL(text, "a query is FROM one table")
    where = select.args.get("where")
    return None if where is None else where.this


def _tree(node: exp.Expression | None) -> Tree:
    if node is None:
        return TRUE
    kind = type(node).__name__
    if kind == "Paren":
        return _tree(node.this)
    if kind in ("And", "Or"):
        parts = [_tree(part) for part in (node.this, node.expression)]
        return Branch(kind == "And", tuple(parts))
    if kind == "Not":
        return _tree(node.this).negated()
    if kind == "Boolean":
        return TRUE if node.this else FALSE
    return _leaf(node, kind)


def _leaf(node: exp.Expression, kind: str) -> Leaf:
    """A condition on one column."""
    if kind == "Column":
        return _compared(node, node, "EQ", True)
    if kind in FLIPPED:
        return _comparison(node, kind)
    if kind == "Is":
        return _is(node)
    if kind == "Between" and not node.args.get("symmetric"):
        return _between(node)
    if kind == "In" and node.expressions and not node.args.get("query"):
        values = [_literal(each) for each in node.expressions]
        known = any_of(ColumnSet.of(value) for value in values if value is not None)
        return _known(node.this, known, None in values, node)
    raise UnsupportedSQL(
        _sql(node),
        "use comparisons of a column with a value, BETWEEN, IN (values), IS NULL, AND, OR and NOT",
    )


def _comparison(node: exp.Expression, kind: str) -> Leaf:
    if type(node.this).__name__ == "Column":
        return _compared(node, node.this, kind, _literal(node.expression))
    if type(node.expression).__name__ == "Column":
        return _compared(node, node.expression, FLIPPED[kind], _literal(node.this))
    raise UnsupportedSQL(_sql(node), "one side of a comparison is a column, the other a value")


def _compared(node: exp.Expression, column: exp.Expression, kind: str, value: Any) -> Leaf:
    """``column <kind> value``; NULL compares as unknown, whatever the column holds."""
    name = _name(column)
    if value is None:
        return Leaf(name, NOTHING, NOTHING)
    if kind in ("EQ", "NEQ"):
        leaf = _two_valued(name, ColumnSet.of(value))
        return leaf.negated() if kind == "NEQ" else leaf
    if isinstance(value, str | bool):
        raise UnsupportedSQL(
            _sql(node), "labels have no order here; ask for a label or IN (labels)"
        )
    side = {
        "LT": Interval(-inf, False, value, True),
        "LTE": Interval(-inf, False, value, False),
        "GT": Interval(value, True, inf, False),
        "GTE": Interval(value, False, inf, False),
    }[kind]
    return _two_valued(name, ColumnSet((side,)))


def _between(node: exp.Expression) -> Leaf:
    low, high = _literal(node.args["low"]), _literal(node.args["high"])
    lower = _compared(node, node.this, "GTE", low)
    upper = _compared(node, node.this, "LTE", high)
    return Leaf(lower.column, lower.true.meet(upper.true), lower.false.union(upper.false))


def _is(node: exp.Expression) -> Leaf:
    name, state = _name(node.this), type(node.expression).__name__
    if state == "Null":
        return Leaf(name, MISSING_ONLY, ALL_PRESENT)
    if state == "Boolean":
        true = ColumnSet.of(bool(node.expression.this))
        return Leaf(name, true, true.complement())
    raise UnsupportedSQL(_sql(node), "IS goes with NULL, TRUE and FALSE")


def _known(column: exp.Expression, true: ColumnSet, unknown: bool, node: exp.Expression) -> Leaf:
    """Equal to one of some values; with a NULL among them it is never false."""
    if type(column).__name__ != "Column":
        raise UnsupportedSQL(_sql(node), "IN asks about one column")
    leaf = _two_valued(_name(column), true)
    return Leaf(leaf.column, leaf.true, NOTHING) if unknown else leaf


def _two_valued(name: str, true: ColumnSet) -> Leaf:
    return Leaf(name, true, true.complement().present())


def _name(column: exp.Expression) -> str:
    if type(column).__name__ != "Column":
        raise UnsupportedSQL(_sql(column), "it is not a column")
    return str(column.name)


def _literal(node: exp.Expression) -> Any:
    """A number, a text, a truth value or None."""
    kind = type(node).__name__
    if kind == "Neg":
        value = _literal(node.this)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if kind == "Paren":
        return _literal(node.this)
    if kind == "Literal":
        return str(node.this) if node.is_string else float(node.this)
    if kind == "Boolean":
        return bool(node.this)
    if kind == "Null":
        return None
    raise UnsupportedSQL(_sql(node), "a column is compared with a plain value")


def _sql(node: Any) -> str:
    return node.sql() if hasattr(node, "sql") else str(node)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
