"""The whole report on disk, and the page that shows it.

Start with `experiments.report.page.build`.
"""
