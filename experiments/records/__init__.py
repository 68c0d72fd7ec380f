"""What is kept of a run: the row, its fingerprint, MLflow, and the locks around them.

Imports `experiments.types` only. Start with `experiments.records.rows`.
"""
