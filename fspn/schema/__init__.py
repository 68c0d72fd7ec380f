"""What a column is, and how its values become codes; what can be asked of codes.

Imports nothing of this package. Start with :mod:`fspn.schema.variable`, then
:mod:`fspn.schema.cells` and :mod:`fspn.schema.events`.
"""
