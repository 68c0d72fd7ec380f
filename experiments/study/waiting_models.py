"""Jobs that have everything but their latency: the fitted model waits in a file.

A study that measures latency last (`plan.latency_last`) first trains all its models side by side,
then measures one after the other on a quiet machine. A job's row is written when it is trained, so
that later stages can use its setting; as long as its model waits, the job does not count as
finished, so that a study that was killed in between goes on where it stopped.
"""

from __future__ import annotations

import logging
import pickle
from dataclasses import dataclass

from baselines.base import DensityModel
from experiments.records.rows import Store, write_bytes
from experiments.study.trial import Trial

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Waiting:
    """A fitted model, and the trials of its search for the tracking store."""

    model: DensityModel
    trials: tuple[Trial, ...]


def keep_waiting(store: Store, fingerprint: str, waiting: Waiting) -> bool:
    """Keep a model until its latency is measured; False if it cannot be written to a file."""
    try:
        text = pickle.dumps(waiting, protocol=pickle.HIGHEST_PROTOCOL)
        pickle.loads(text)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError) as error:
        log.info("%s cannot wait, its latency is measured now: %s", waiting.model.name, error)
        return False
    write_bytes(text, store.waiting(fingerprint))
    return True


def read_waiting(store: Store, fingerprint: str) -> Waiting | None:
    """The model that waits, or None if there is none that can be read."""
    try:
        found = pickle.loads(store.waiting(fingerprint).read_bytes())
    except Exception as error:  # whatever a damaged file makes of itself
        if store.waiting(fingerprint).exists():
            log.warning("the waiting model of %s cannot be read: %s", fingerprint, error)
        return None
    return found if isinstance(found, Waiting) else None
