"""MSPN through SPFlow 0.0.48: its learner, its evaluation, and both untouched.

SPFlow is imported when used. Start with `baselines.spflow.mspn`.
"""
