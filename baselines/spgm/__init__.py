"""Sum-product graphical models: mixtures of trees with shared parts (Desana, Schnoerr 2016).

Imports the spanning trees of `baselines.trees`. Start with `baselines.spgm.graph`, the model, then
`spgm`, its learner.
"""
