"""Row-count estimators on real tables: FSPN beside PostgreSQL, DuckDB, samples and histograms.

Imports the other families of `baselines`; databases when they are started. Start with
`baselines.estimators.base`.
"""
