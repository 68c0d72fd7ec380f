"""One module per table, written as CSV, LaTeX and HTML by `experiments.report.tables.writing`.

Imports the rows of `experiments.report`. Start with `experiments.report.tables.comparison`.
"""
