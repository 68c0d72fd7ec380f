"""What is measured of a fitted model: KL divergence, latency, likelihood, on a workload of queries.

Imports `experiments.types` and `experiments.records`. Start with `experiments.measures.evaluate`.
"""
