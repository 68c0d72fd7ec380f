"""One module per figure, all drawn from recorded rows in one style.

Imports the rows of `experiments.report`; matplotlib when drawn. Start with
`experiments.report.figures.paper_figures`; `style` has colours and markers.
"""
