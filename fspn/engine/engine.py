"""Running a compiled model: events in, log-probabilities out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import RLock, Thread
from typing import Any

import numpy as np

from fspn.engine.batch_kernels import BOXES, CODES, QUESTIONS, answer, workspace_words
from fspn.engine.cold_start import Call, Readiness
from fspn.engine.compile import Program
from fspn.engine.handle_kernels import handles_of
from fspn.engine.heap import keep_pages
from fspn.engine.joint_table import joint_part
from fspn.engine.limits import MAX_BUFFER, TooWide
from fspn.engine.program import NEEDS
from fspn.engine.region_kernels import region_room
from fspn.schema.domain import Domain
from fspn.schema.events import CodeRange, CodeWeights, Events

FIRST_BUFFER = 1 << 16

LINE = 8
"""Words of a cache line."""

MIN_SHARED = 64
"""Fewer events than this for each thread are not worth starting one."""

Packed = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


_NO_WEIGHTS = np.zeros(1)
_NO_SIDES = np.zeros((1, 1))
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
        self.program, self._root = program, program.root
        self.takes_boxes = all(v.codes_are_numbers for v in domain.variables)
        values = [v.values if self.takes_boxes else np.zeros(1) for v in domain.variables]
        self.coding = coding(values)
        self.n_threads = max(1, n_threads)
        nothing = np.zeros((1, len(program.sizes)), dtype=np.int64)
        self._free = (nothing, nothing + program.sizes - 1, nothing - 1)
        self._first = len(program.dense)
        words = workspace_words(program.needs)
        self._scratch = [_aligned(words) for _ in range(self.n_threads)]
        has_regions = bool(program.needs[NEEDS.regions] >= 0)
        # 104 MB of address space per thread; pages once touched stay resident with the engine.
        self._room = [region_room(has_regions) for _ in range(self.n_threads)]
        self.new_buffers(self._first + FIRST_BUFFER)
        keep_pages()
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
        nothing = np.empty((0, len(self.program.sizes)))
        sides = (nothing, nothing, nothing)
        head = (CODES, self.program.root, self._handles[0])
        yield answer, (*head, *sides, _NO_WEIGHTS, np.empty(0))

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
        if self.n_threads > 1:
            return self._share(BOXES, self.program.root, lower, upper, _NO_SIDES, _NO_WEIGHTS)
        out = np.empty(len(lower))
        # Called here, not by a method of its own: that would take a twentieth of a short question.
        with self._lock:
            while need := answer(
                BOXES, self._root, self._handles[0], lower, upper, _NO_SIDES, _NO_WEIGHTS, out
            ):
                self.grow(int(need))
        return out

    def questions(self, listed: Sequence[float], n: int) -> np.ndarray:
        """The probabilities of n questions given evidence, NaN where that is impossible.

        ``listed`` is as :mod:`fspn.engine.batch_kernels` describes a list of questions.
        """
        out, entries = np.empty(n), np.array(listed, dtype=np.float64)
        sides = (_NO_SIDES, _NO_SIDES, _NO_SIDES)
        with self._lock:
            while need := answer(QUESTIONS, self._root, self._handles[0], *sides, entries, out):
                self.grow(int(need))
        return out

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
        one, two, three = (side.view(np.float64) for side in (lower, upper, places))
        place = self._root if root is None else root
        return self._share(CODES, place, one, two, three, weights)

    def _share(
        self,
        form: int,
        root: int,
        one: np.ndarray,
        two: np.ndarray,
        places: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """One log-probability per event, on as many threads as pay."""
        n = len(one)
        out = np.empty(n)
        parts = max(1, min(self.n_threads, n // MIN_SHARED))
        with self._lock:
            cuts = [i * n // parts for i in range(parts + 1)]
            slices = [slice(a, b) for a, b in pairwise(cuts)]
            sides = [(one[s], two[s], places[s] if form == CODES else places) for s in slices]
            while True:
                needs = _in_threads(
                    [
                        (form, root, handles, *mine, weights, out[s])
                        for handles, mine, s in zip(self._handles, sides, slices, strict=False)
                    ]
                )
                if not max(needs):
                    return out
                self.grow(max(needs))

    def joint_table(self, axes: Sequence[int], given: Events) -> np.ndarray:
        r""":math:`\Pr(Q, E = e)` up to a factor, for all cells of Q at once."""
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
        self.new_buffers(min(2 * need, MAX_BUFFER))

    def new_buffers(self, length: int) -> None:
        """A workspace per thread, with the dense tables at its head."""
        self._buffers = np.empty((self.n_threads, length))
        self._buffers[:, : self._first] = self.program.dense
        p = self.program
        shared = (*p.pools, p.sizes, p.needs, *self.coding)
        self._handles = [
            handles_of((*shared, buffer, scratch, *room), self._first)
            for buffer, scratch, room in zip(self._buffers, self._scratch, self._room, strict=True)
        ]


def _aligned(n: int) -> np.ndarray:
    """So many words that begin with a cache line."""
    words = np.empty(n + LINE, dtype=np.int64)
    skipped = -(words.ctypes.data // words.itemsize) % LINE
    return words[skipped : skipped + n]


def _in_threads(calls: Sequence[tuple[Any, ...]]) -> list[int]:
    """Call the kernels in a thread each; what every one of them returned."""
    needs = [-1] * len(calls)

    def work(i: int) -> None:
        needs[i] = int(answer(*calls[i]))

    # Threads of this call alone: a pool would not survive a fork.
    threads = [Thread(target=work, args=(i,)) for i in range(1, len(calls))]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    if min(needs) < 0:
        raise RuntimeError("a thread that answers questions has failed")
    return needs


def coding(domains: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Sorted domains as :func:`fspn.engine.code_kernels.codes_of_box` reads them."""
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
