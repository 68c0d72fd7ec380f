"""From nodes to arrays to numbers: the compiled engine.

Imports ``schema`` and ``model``, never ``learn``. Start with :mod:`fspn.engine.program`, the
records of a compiled model; :mod:`fspn.engine.compile` writes them, :mod:`fspn.engine.engine` asks,
and :mod:`fspn.engine.tree_kernels` evaluates; tables that are written out are eliminated by
:mod:`fspn.engine.dense_kernels`, others by :mod:`fspn.engine.elimination`. All of it agrees with
:mod:`fspn.model.infer` to 1e-12.
"""
