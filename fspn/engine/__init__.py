"""From nodes to arrays to numbers: the compiled engine.

Imports ``schema`` and ``model``, never ``learn``. Start with :mod:`fspn.engine.compile`, which
flattens a model, and :mod:`fspn.engine.engine`, which asks it; all of it agrees with
:mod:`fspn.model.infer` to 1e-12.
"""
