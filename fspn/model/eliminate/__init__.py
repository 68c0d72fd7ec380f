"""Variable elimination on nodes, in numpy: most probable completions, conditional samples.

Imports the rest of ``model`` and ``schema``.
Start with :mod:`fspn.model.eliminate.elimination`, the recursion over the nodes; chains of tables
are Bayesian networks and are eliminated bucket by bucket (:mod:`fspn.model.eliminate.buckets`).
:mod:`fspn.model.eliminate.descend` goes back down with a choice at every step (the best, or a
random one), and :mod:`fspn.model.eliminate.branch` finds the maximum where sum nodes leave bounds.
"""
