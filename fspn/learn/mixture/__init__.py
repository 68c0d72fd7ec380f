"""Sum nodes over networks on any coded table: classes of rows that no column records, by EM.

Imports ``model`` and ``learn.network``. Start with :mod:`fspn.learn.mixture.fit`; ``trees`` finds
classes cheaply, ``search`` chooses their number, ``networks`` learns the children of the sum node.
"""
