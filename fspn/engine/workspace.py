"""What kernels hand to each other: an event, and the arrays that an evaluation writes to.

Arrays are passed from Python one by one, because unboxing a tuple costs microseconds per call;
inside the kernels a few named tuples hold them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Event(NamedTuple):
    """Per variable the range of codes and the offset of its weights (-1: none); the weights."""

    lower: np.ndarray
    upper: np.ndarray
    places: np.ndarray
    weights: np.ndarray


class EliminationState(NamedTuple):
    """An elimination on sparse tables (V, F and W of :mod:`fspn.engine.kernels`)."""

    variables: np.ndarray
    factors: np.ndarray
    walk: np.ndarray


class DenseState(NamedTuple):
    """An elimination on dense tables (B, G and P of :mod:`fspn.engine.dense_kernels`)."""

    variables: np.ndarray
    factors: np.ndarray
    terms: np.ndarray


class Memory(NamedTuple):
    """What memos keep (:mod:`fspn.engine.memo_kernels`)."""

    heads: np.ndarray
    arena: np.ndarray
    values: np.ndarray


class TensorStack(NamedTuple):
    """Answers over open variables (:mod:`fspn.engine.tensor_kernels`).

    Arguments:
        entries, logs: Per answer its shape and place in the buffer; its scale and factor.
        steps: The variables of a walk over cells, the current cell, and strides.
        kept: Which variables are open.
    """

    entries: np.ndarray
    logs: np.ndarray
    steps: np.ndarray
    kept: np.ndarray


class RegionBuffers(NamedTuple):
    """Where an evaluation by regions writes (:mod:`fspn.engine.region_kernels`).

    Arguments:
        arena: The contexts, one behind the other.
        links: Pairs of sub-events and regions, and maps between contexts.
        vectors: The vectors of the answers on the stack.
        answers: Scale and factor of every answer on the stack.
        places: Where the vector of every answer stands.
        frames: What is kept of a context while another one is in force.
        free: The packed event that constrains nothing.
    """

    arena: np.ndarray
    links: np.ndarray
    vectors: np.ndarray
    answers: np.ndarray
    places: np.ndarray
    frames: np.ndarray
    free: np.ndarray


class Workspace(NamedTuple):
    """All that an evaluation writes to, apart from the buffer.

    Arguments:
        keep: Which variables an elimination is to keep; none, here.
        frames: The stack of nodes.
        partial: Per frame the sum so far, and what its right child answered.
        saved: Sides of the event that inner regions have cut.
        sparse: The state of an elimination on sparse tables.
        dense: The state of one on dense tables.
        memory: Answers of this event that may be asked for again.
        tensors: Answers over the variables of messages.
    """

    keep: np.ndarray
    frames: np.ndarray
    partial: np.ndarray
    saved: np.ndarray
    sparse: EliminationState
    dense: DenseState
    memory: Memory
    tensors: TensorStack
