"""Model files: plain data with a checksum, no pickle.

Imports ``schema``, ``model`` and ``validate``. Start with :mod:`fspn.io.model_file`.
"""
