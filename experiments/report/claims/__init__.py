"""The ledger: the paper's statements, the rules that test them, and the verdicts.

Start with `experiments.report.claims.ledger`; a new claim is an entry of `statements`.
"""
