"""Bayesian networks inside an FSPN: counting, scores, order search, bounded width, fitted tables.

Imports ``model``. Start with :mod:`fspn.learn.network.order_search`, then ``score`` and ``tables``.
"""
