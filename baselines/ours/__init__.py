"""FSPN and its relatives: default learner, the paper's recipe, ensemble, tree SPN.

Imports `fspn` and `baselines.compiled`. Start with `baselines.ours.fspn_model`.
"""
