"""Conditional probability tables: the multi-leaves under a split node with one region per value.

Imports ``model.leaves.base`` only. Start with :mod:`fspn.model.cpt.backoff`.
"""
