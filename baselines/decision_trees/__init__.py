"""Bayesian networks whose conditional distributions are decision trees, in WinMine's manner.

Start with `baselines.decision_trees.tree_network`.
"""
