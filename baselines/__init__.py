"""The models that FSPN is compared with, all behind one protocol.

Imports `fspn`, never `experiments`. Start with `baselines.base`, the protocol; every family is a
package of its own and imports the modules next to this file.
"""
