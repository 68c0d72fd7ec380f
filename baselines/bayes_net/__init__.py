"""Discrete Bayesian networks: BN-Tree, BN-DAG and the true structure.

pyAgrum searches and infers, pomegranate counts; both are imported when used. Start
with `baselines.bayes_net.network`.
"""
