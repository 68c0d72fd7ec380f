"""Leaf families behind one protocol, :mod:`fspn.model.leaves.base`.

Imports ``schema``; :mod:`fspn.model.leaves.nested`, a multi-leaf that is itself an FSPN, also
imports the nodes. Start with :mod:`fspn.model.leaves.categorical`.
"""
