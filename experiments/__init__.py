"""The study: datasets with a known truth, evidence workloads, measures, runs and reports.

Whatever it times is compiled first (:mod:`fspn.jit`).
"""

import os

os.environ.setdefault("FSPN_KERNELS", "wait")
