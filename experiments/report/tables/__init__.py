"""One module per table, written as CSV, LaTeX and HTML by `experiments.report.tables.writing`.

Start with `experiments.report.tables.comparison`.
"""
