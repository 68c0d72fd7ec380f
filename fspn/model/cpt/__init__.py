"""Conditional probability tables: the multi-leaves under a split node with one region per value.

Imports the checks and the base of ``model.leaves``. Start with :mod:`fspn.model.cpt.backoff`.
"""
