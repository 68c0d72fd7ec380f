"""Bayesian networks whose conditional distributions are decision trees, in WinMine's manner.

Imports `baselines.compiled`, which answers by FSPN's engine. Start with
`baselines.decision_trees.tree_network`.
"""
