"""Cutset networks: a search tree over values, Chow-Liu trees below it (Rahman et al. 2014).

Imports the Chow-Liu trees of `baselines.trees` and the bags of `baselines.bagging`.
Start with `baselines.cutset.ecnet`.
"""
