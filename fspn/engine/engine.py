"""Running a compiled model: events in, log-probabilities out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import RLock

import numba
import numpy as np

from fspn.engine.batch_kernels import run_boxes, run_conditionals, run_events, run_events_parallel
from fspn.engine.code_kernels import codes_of_boxes
from fspn.engine.cold_start import Call, Readiness
from fspn.engine.compile import Program
from fspn.engine.limits import MAX_BUFFER, TooWide
from fspn.schema.domain import Domain
from fspn.schema.events import CodeRange, CodeWeights, Events

FIRST_BUFFER = 1 << 16


Packed = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


_NO_WEIGHTS = np.zeros(1)
_NO_EVENT, _FIRST_EVENT = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)


class Engine:
    """Answers batches of events on a compiled model.

    One batch at a time: the kernels release the GIL and work in buffers of the engine, so a lock
    makes a second caller wait.

    Arguments:
        program: The compiled model.
        domain: Its variables.
        n_threads: How many threads share a batch.
    """

    def __init__(self, program: Program, domain: Domain, n_threads: int = 1):
        self.program = program
        self.takes_boxes = all(v.codes_are_numbers for v in domain.variables)
        if self.takes_boxes:
            self.coding = coding([v.values for v in domain.variables])
        self.n_threads = max(1, min(n_threads, numba.config.NUMBA_NUM_THREADS))
        nothing = np.zeros((1, len(program.sizes)), dtype=np.int64)
        self._free = (nothing, nothing + program.sizes - 1, nothing - 1)
        self._first = len(program.dense)
        self._buffers = self._new_buffers(self._first + FIRST_BUFFER)
        self._lock = RLock()
        self._readiness, self._was_ready = Readiness(self._calls), False

    @property
    def is_ready(self) -> bool:
        """Whether the kernels are compiled; if not, this starts their compilation."""
        if self._was_ready:
            return True
        self._was_ready = self._readiness.check()
        return self._was_ready

    def compile_kernels(self) -> None:
        """Compile all kernels that this engine may call, and wait for it."""
        for kernel, arguments in self._calls():
            kernel(*arguments)

    def _calls(self) -> Iterator[Call]:
        """Every kernel that is called from outside, on no event."""
        p, m = self.program, len(self.program.sizes)
        no_codes, no_values, out = np.empty((0, m), dtype=np.int64), np.empty((0, m)), np.empty(0)
        events = (p.root, *p.pools, no_codes, no_codes, no_codes, _NO_WEIGHTS, p.sizes, p.needs)
        if self.n_threads > 1:
            yield run_events_parallel, (*events, self._buffers, self._first, out)
        else:
            yield run_events, (*events, self._buffers[0], self._first, out)
        head = (p.root, *p.pools, p.sizes, p.needs)
        work = (self._buffers[0], self._first, out)
        if self.takes_boxes:
            yield codes_of_boxes, (no_values, no_values, *self.coding)
            yield run_boxes, (*head, no_values, no_values, *self.coding, *work)
        yield run_conditionals, (*head, np.empty(0, dtype=np.int64), 0, *work)

    @property
    def first(self) -> int:
        """The offset in a buffer behind the dense tables."""
        return self._first

    @property
    def buffer(self) -> np.ndarray:
        """The first thread's workspace."""
        return self._buffers[0]

    def log_probability(self, events: Events) -> np.ndarray:
        """One log-probability per event."""
        return self.run(*self.pack(events))

    def pack(self, events: Events) -> Packed:
        """Events as arrays: lower and upper codes, places of weights, weights.

        Codes may be out of range; :meth:`run` clips them.
        """
        sizes = self.program.sizes
        one = events.n == 1
        lower, upper, places = (
            side.copy() if one else np.repeat(side, events.n, axis=0) for side in self._free
        )
        weights: list[np.ndarray] = []
        used = len(_NO_WEIGHTS)
        for v, constraint in events.constraints.items():
            if isinstance(constraint, CodeRange):
                lower[:, v], upper[:, v] = constraint.lower, constraint.upper
            elif isinstance(constraint, CodeWeights):
                values = constraint.weights(int(sizes[v]))
                tighten = _tighten_one if one else _tighten
                partly = tighten(values, lower[:, v], upper[:, v])
                weights.append(values[partly].ravel())
                places[partly, v] = used + np.arange(len(partly)) * int(sizes[v])
                used += weights[-1].size
            else:
                raise TypeError("reals in an event on a coded model")
        return lower, upper, places, np.concatenate([_NO_WEIGHTS, *weights])

    def box_log_probability(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """One log-probability per closed box of values (ordered variables only)."""
        if self.n_threads > 1 and len(lower) > 1:
            return self.run_boxes_of_codes(*codes_of_boxes(lower, upper, *self.coding))
        p = self.program
        out = np.empty(len(lower))
        with self._lock:
            while need := run_boxes(
                p.root, *p.pools, p.sizes, p.needs,
                lower, upper, *self.coding, self._buffers[0], self._first, out,
            ):  # fmt: skip
                self.grow(int(need))
        return out

    def conditionals(self, pairs: np.ndarray, n: int) -> tuple[np.ndarray, bool]:
        """The probabilities of n questions given evidence, and whether any evidence is impossible.

        ``pairs`` is as :func:`fspn.engine.batch_kernels.run_conditionals` reads it.
        """
        p = self.program
        out = np.empty(n)
        with self._lock:
            while True:
                need, impossible = run_conditionals(
                    p.root, *p.pools, p.sizes, p.needs, pairs, n, self._buffers[0], self._first, out
                )
                if need == 0:
                    return out, impossible > 0
                self.grow(int(need))

    def run_boxes_of_codes(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The log-probabilities of boxes of codes, arrays of int64; codes may be out of range."""
        return self.run(lower, upper, np.full(lower.shape, -1, dtype=np.int64), _NO_WEIGHTS)

    def run(
        self,
        lower: np.ndarray,
        upper: np.ndarray,
        places: np.ndarray,
        weights: np.ndarray,
        root: int | None = None,
    ) -> np.ndarray:
        """The log-probabilities of packed events, on the whole model or from one node down."""
        p = self.program
        root = p.root if root is None else root
        out = np.empty(len(lower))
        several = self.n_threads > 1
        with self._lock:
            while need := (run_events_parallel if several else run_events)(
                root, *p.pools, lower, upper, places, weights, p.sizes, p.needs,
                self._buffers if several else self._buffers[0], self._first, out,
            ):  # fmt: skip
                self.grow(int(need))
        return out

    def joint_table(self, axes: Sequence[int], given: Events) -> np.ndarray:
        r""":math:`\Pr(Q, E = e)` up to a factor, for all cells of Q at once."""
        from fspn.engine.joint_table import joint_part

        with self._lock:
            lower, upper, *weights = self.pack(given)
            inside = np.maximum(lower, 0), np.minimum(upper, self.program.sizes - 1)
            part = joint_part(self, frozenset(axes), (*inside, *weights))
        if np.isneginf(part.scale):
            return np.zeros([int(self.program.sizes[v]) for v in axes])
        return np.transpose(part.array, [part.variables.index(v) for v in axes])

    def grow(self, need: int) -> None:
        if need > MAX_BUFFER:
            raise TooWide(
                f"an exact answer needs an intermediate table of more than {MAX_BUFFER} numbers; "
                "constrain more variables, or fit with fewer max_parents or a smaller max_cells"
            )
        self._buffers = self._new_buffers(min(2 * need, MAX_BUFFER))

    def _new_buffers(self, length: int) -> np.ndarray:
        """A workspace per thread, with the dense tables at its head."""
        buffers = np.empty((self.n_threads, length))
        buffers[:, : self._first] = self.program.dense
        return buffers


def coding(domains: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Sorted domains as :func:`fspn.engine.code_kernels.codes_of_boxes` reads them."""
    columns = [np.asarray(values, dtype=np.float64) for values in domains]
    edges = np.array([[column[0] for column in columns], [len(column) for column in columns]])
    starts = np.concatenate([[0], np.cumsum(edges[1], dtype=np.int64)])
    others = np.flatnonzero([not _is_run(column) for column in columns])
    return np.concatenate(columns), starts, edges, others


def _is_run(values: np.ndarray) -> bool:
    """Whether a domain is a run of consecutive integers."""
    return (
        bool(np.array_equal(values, np.arange(len(values)) + values[0]))
        and float(values[0]).is_integer()
    )


def _tighten_one(weights: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """As :func:`_tighten`, for one event and in few numpy calls, which cost as much as a sum."""
    codes = weights[0].nonzero()[0]
    if not len(codes):
        lower[0], upper[0] = 1, 0
        return _NO_EVENT
    lower[0], upper[0] = codes[0], codes[-1]
    return _NO_EVENT if weights[0].sum() == codes[-1] - codes[0] + 1 else _FIRST_EVENT


def _tighten(weights: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Shrink ranges to the codes of positive weight; returns which events still need weights.

    Weights that are all 1 on the range are redundant: a variable that an event leaves free must not
    count as constrained only because another event of the batch names it.
    """
    positive = weights > 0
    some = positive.any(axis=1)
    lower[:] = np.where(some, positive.argmax(axis=1), 1)
    upper[:] = np.where(some, weights.shape[1] - 1 - positive[:, ::-1].argmax(axis=1), 0)
    return np.flatnonzero(some & (weights.sum(axis=1) != upper - lower + 1))
