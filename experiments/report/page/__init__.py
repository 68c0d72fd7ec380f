"""The whole report on disk, and the page that shows it.

Imports all of `experiments.report`. Start with `experiments.report.page.build`.
"""
