"""Learning on tables of two-valued columns: a sum over networks of bounded width, by EM.

With two values per column a variable can afford many parents, a pair of columns is one entry of a
matrix product, and rows repeat. So the search differs from the one for large domains; what it
builds are the same nodes: a sum node over chains of factorize nodes with tables. Imports ``model``.
Start with :mod:`fspn.learn.binary.fit`.
"""
