"""Estimators of query sizes on real tables."""
