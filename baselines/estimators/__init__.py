"""Estimators of how many rows of a real table a condition holds for."""
