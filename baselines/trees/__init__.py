"""Chow-Liu trees and mixtures of trees that scale to thousands of binary columns.

Start with `baselines.trees.mixture`, what one tree and many of them share.
"""
