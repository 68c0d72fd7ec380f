"""The ledger: the paper's statements, the rules that test them, and the verdicts.

Imports the rows and statistics of `experiments.report`. Start with
`experiments.report.claims.ledger`; a new claim is an entry of `statements`.
"""
