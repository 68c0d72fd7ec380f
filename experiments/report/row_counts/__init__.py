"""The study of real tables: q-errors of row counts, as tables and one figure.

Imports `experiments.records` and `measures`. Start with `experiments.report.row_counts.summary`.
"""
