"""Sums over networks of bounded width whose parents come from pools, by EM on weighted rows.

What many columns of few values show together: a class in every column, rows that belong to several
classes, many small networks in place of a few large ones. Counts of two values are a fast path
(``binary_rows``, ``binary_evidence``) beside those of any number (``coded_rows``,
``coded_evidence``). What is built are the nodes of every other table: a sum node over chains of
factorize nodes with tables. Imports ``model``. Start with :mod:`fspn.learn.pools.fit`; whether
such networks are tried on a table of more than two values is in :mod:`fspn.learn.pools.trial`.
"""
