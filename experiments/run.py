"""The command: `python -m experiments.run dataset=rdc_65 model=fspn seed=0`.

With `experiment=<name>` it runs a whole study (all jobs of its plan, then the report), with `-m` a
sweep; `executor=` says where: this machine (`local`, `submitit_local`) or a cluster (`slurm`).
"""

from __future__ import annotations

import logging
import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from experiments.records import tracking
from experiments.records.sync import settle
from experiments.study.config import ConfigError, JobConfig, read_job, read_plan
from experiments.study.execute import StudyFailed, check_results_dir, run_plan
from experiments.study.executors import read_executor
from experiments.study.job import run_job
from experiments.study.plan import conf_dir
from experiments.study.search_choice import check_search
from experiments.study.sweep import Sweep, read_sweep

log = logging.getLogger(__name__)


def main() -> None:
    """Run the job, the sweep or the study that the command line describes."""
    try:
        sweep = read_sweep(sys.argv[1:])
    except ConfigError as error:
        sys.exit(str(error))
    sys.argv[1:] = sweep.given

    @hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="config")
    def run(config: DictConfig) -> None:
        run_composed(config, sweep)

    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)


def run_composed(config: DictConfig, sweep: Sweep) -> None:
    """Run what a composed configuration and the sweep of its command line describe."""
    given = list(HydraConfig.get().overrides.task)
    check_search(HydraConfig.get().runtime.choices)
    plan = sweep.plan(read_plan(config))
    executor = read_executor(config)
    if plan is not None:
        run_plan(plan, given, executor)
        return
    if not executor.is_local:
        raise ConfigError(
            f"executor={executor.kind} runs studies and sweeps: add experiment= or -m"
        )
    run_single(read_job(config, given))


def run_single(config: JobConfig) -> None:
    """Run one job and say what came out."""
    tracker = tracking.tracker(config.tracking_uri, config.results_dir)
    tracker.check()
    check_results_dir(config.results_dir)
    settle(tracker)
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


if __name__ == "__main__":
    main()
