"""What an FSPN is and what it means: the node types, leaf families, conditional tables, inference.

Imports ``schema`` only. Start with :mod:`fspn.model.nodes` and :mod:`fspn.model.infer`, FSPN-Infer
as the paper writes it: the definition that every faster path must agree with.
"""
