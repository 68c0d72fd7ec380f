"""One module per figure, all drawn from recorded rows in one style.

Start with `experiments.report.figures.paper_figures`; `style` has colours and markers.
"""
