"""Questions in SQL: a WHERE condition, or a whole SELECT count(*), as events of a model.

Imports ``schema`` and ``ask``; sqlglot when a text is parsed. Start with :mod:`fspn.sql.condition`.
"""

from fspn.sql.answer import probabilities
from fspn.sql.condition import Condition, Term
from fspn.sql.errors import UnsupportedSQL
from fspn.sql.parse import read_condition
from fspn.sql.sets import ColumnSet, Interval
from fspn.sql.write import write_condition

__all__ = [
    "ColumnSet",
    "Condition",
    "Interval",
    "Term",
    "UnsupportedSQL",
    "probabilities",
    "read_condition",
    "write_condition",
]
