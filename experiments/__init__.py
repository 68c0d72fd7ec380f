"""The study: datasets with a known truth, evidence workloads, measures, runs and reports."""
