"""FSPN and its relatives: default learner, the paper's recipe, ensemble, tree SPN.

Start with `baselines.ours.fspn_model`.
"""
