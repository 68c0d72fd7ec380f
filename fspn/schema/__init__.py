"""What a column is, and how its values become codes; what can be asked of codes.

Imports nothing of this package. Start with :mod:`fspn.schema.domain`, then
:mod:`fspn.schema.events`.
"""
