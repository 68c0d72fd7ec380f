"""The benchmark: our engine beside the peers', same data and same queries, ratios in one run.

Imports ``fspn``, ``baselines`` and the datasets. Start with :mod:`experiments.bench.__main__`.
"""
