"""Running jobs: config, plan, one job, grid search, worker processes, progress.

Imports `datasets`, `measures` and `records`. Start with `experiments.study.job`, then `execute`.
"""
