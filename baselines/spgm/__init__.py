"""Sum-product graphical models: mixtures of trees with shared parts (Desana, Schnoerr 2016).

Start with `baselines.spgm.graph`.
"""
