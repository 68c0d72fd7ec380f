"""Sum-product networks over Chow-Liu trees, one and bagged (Vergari et al. 2015).

Imports the Chow-Liu trees of `baselines.trees`. Start with `baselines.spn.spn_btb`.
"""
