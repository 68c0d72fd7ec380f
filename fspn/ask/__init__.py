"""From what users write to events and back to answers.

Imports ``schema``, ``model`` and ``engine``. Start with :mod:`fspn.ask.methods`, the questions a
fitted model answers; :mod:`fspn.ask.parse` reads dictionaries, boxes and rows.
"""
