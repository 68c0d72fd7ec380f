"""Chow-Liu trees and mixtures of trees that scale to thousands of binary columns.

Imports the modules next to the protocol. Start with `baselines.trees.mixture`, what
one tree and a mixture of them share.
"""
