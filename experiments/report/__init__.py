"""From recorded rows to figures, tables, claims and one page; nothing is trained here.

Imports `experiments.records`, `measures` and `study`. Start with `experiments.report.__main__`,
then `rows`, which reads what was recorded.
"""
