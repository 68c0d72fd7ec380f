"""Cutset networks: a search tree over values, Chow-Liu trees below it (Rahman et al. 2014).

Start with `baselines.cutset.ecnet`.
"""
