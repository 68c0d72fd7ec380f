"""From a table to nodes. Imports ``schema`` and ``model``, never ``engine``.

Start with :mod:`fspn.learn.fit`, which sets things up, and :mod:`fspn.learn.paper`, Learn-FSPN with
one function per branch of the pseudocode; ``parameters`` checks what users set, ``presets`` has the
two recipes.
"""
