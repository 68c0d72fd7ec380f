"""MSPN through SPFlow 0.0.48: its learner, its evaluation, and both untouched.

SPFlow is imported where it is used only. Start with `baselines.spflow.mspn`.
"""
