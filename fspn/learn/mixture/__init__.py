"""Sum nodes over networks on any coded table: classes of rows that no column records, by EM.

Start with :mod:`fspn.learn.mixture.fit`; ``trees`` finds classes cheaply, ``search`` chooses their
number, ``networks`` learns what stands under the sum node.
"""
