"""The command: `python -m experiments.run dataset=rdc_65 model=fspn seed=0`.

With `experiment=<name>` it runs a whole study (all jobs of its plan, then the report); with `-m`
Hydra's launcher spreads the jobs of a sweep over the cores or over a cluster.
"""

from __future__ import annotations

import logging

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from experiments.study.config import JobConfig, read_job, read_plan
from experiments.study.execute import StudyFailed, run_plan
from experiments.study.job import run_job
from experiments.study.plan import conf_dir

log = logging.getLogger(__name__)


@hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="config")
def main(config: DictConfig) -> float | None:
    """Run the job or the study that the command line describes."""
    given = list(HydraConfig.get().overrides.task)
    plan = read_plan(config)
    if plan is not None:
        run_plan(plan, given)
        return None
    return run_single(read_job(config, given))


def run_single(config: JobConfig) -> float:
    """Run one job and say what came out; returns its mean KL."""
    outcome = run_job(config)
    row = outcome.row
    if row.status == "failed":
        raise StudyFailed(f"{row.label} failed: {row.error}")
    how = "was finished before (force=true runs it again)" if outcome.skipped else row.status
    log.info(
        "%s: %s  KL %.4g  %.4g ms/query  %.0f nodes  %.1f s training  test LL %.4f",
        *(row.label, how, row.kl_mean, row.latency_single_ms),
        *(row.n_nodes, row.train_seconds, row.test_ll),
    )
    return row.kl_mean


if __name__ == "__main__":
    main()
