"""Measures of dependence (independence oracles) behind one protocol.

Imports numpy and the counting of ``learn.network``. Start with :mod:`fspn.learn.dependence.base`; a
new measure is a class with a method ``matrix`` and one line in :mod:`fspn.learn.dependence.rdc`.
"""
