"""The study: datasets with a known truth, evidence workloads, measures, runs and reports.

Imports `fspn` and `baselines`. Start with `experiments.run`, the command, and
`experiments.study.job`, one job. Packages import each other in one direction: `types`, `records`,
`measures`, `datasets`, `study`, `report`, `bench`. Kernels are compiled before anything is timed
(:mod:`fspn.jit`).
"""

import os

os.environ.setdefault("FSPN_KERNELS", "wait")
