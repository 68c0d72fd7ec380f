"""Sum-product networks over Chow-Liu trees, one and bagged (Vergari et al. 2015).

Start with `baselines.spn.spn_btb`.
"""
