r"""Answers of nodes on a stack: one number, or a vector with one per sub-event of the context.

.. math:: \Pr(E_i) = e^{scale} \cdot factor \cdot vector_i

``answers`` holds scale and factor of each, ``places`` where its vector stands in ``vectors``. The
top answer is number ``s``; the context has ``n`` sub-events.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp, log

import numpy as np

from fspn.engine.kernels import TINY, kernel
from fspn.engine.region_program import COLLECT_STEP

# An answer: its scale and factor; the place of its vector or -1, where that may begin, its length.
SCALE, FACTOR = 0, 1
VECTOR, START, LENGTH = 0, 1, 2


@kernel()
def push(s, scale, factor, start, answers, places):
    """A new answer on top; its vector may begin at ``start``."""
    s += 1
    answers[s, SCALE], answers[s, FACTOR] = scale, factor
    places[VECTOR, s], places[START, s] = -1, start
    return s


@kernel()
def filled(s, places):
    """The end of the vectors in use, up to the top answer."""
    if s < 0:
        return 0
    return places[START, s] if places[VECTOR, s] < 0 else places[VECTOR, s] + places[LENGTH, s]


@kernel()
def scale_by(answers, s, factor):
    """Multiply an answer by a number."""
    product = answers[s, FACTOR] * factor
    if 0.0 < product < TINY:
        answers[s, SCALE] += log(product)
        product = 1.0
    answers[s, FACTOR] = product


@kernel()
def vector_of(places, s, n, vectors):
    """The vector of an answer, all ones if it had none; -1 where the buffer is full."""
    if places[VECTOR, s] < 0:
        start = places[START, s]
        if start + n > len(vectors):
            return -1
        places[VECTOR, s], places[LENGTH, s] = start, n
        for e in range(n):
            vectors[start + e] = 1.0
    return places[VECTOR, s]


@kernel()
def times(s, n, answers, places, vectors):
    """Multiply the answer below the top one by it."""
    answers[s - 1, SCALE] += answers[s, SCALE]
    scale_by(answers, s - 1, answers[s, FACTOR])
    mine, other = places[VECTOR, s], places[VECTOR, s - 1]
    if mine >= 0 and other >= 0:
        for e in range(n):
            vectors[other + e] *= vectors[mine + e]
    elif mine >= 0:
        places[VECTOR, s - 1], places[LENGTH, s - 1] = mine, n


@kernel()
def plus(s, n, weight, answers, places, vectors):
    """Add the top answer, times ``exp(weight)``, to the one below it."""
    if answers[s, FACTOR] <= 0.0:
        return
    scale = answers[s, SCALE] + weight + log(answers[s, FACTOR])
    mine, other = places[VECTOR, s], places[VECTOR, s - 1]
    if answers[s - 1, SCALE] == -np.inf:
        answers[s - 1, SCALE], answers[s - 1, FACTOR] = scale, 1.0
        places[VECTOR, s - 1], places[LENGTH, s - 1] = mine, n
        return
    top = max(scale, answers[s - 1, SCALE])
    a, b = exp(answers[s - 1, SCALE] - top), exp(scale - top)
    answers[s - 1, SCALE] = top
    if mine < 0 and other < 0:
        answers[s - 1, SCALE] += log(a + b)
    elif mine < 0:
        for e in range(n):
            vectors[other + e] = a * vectors[other + e] + b
    elif other < 0:
        for e in range(n):
            vectors[mine + e] = a + b * vectors[mine + e]
        places[VECTOR, s - 1], places[LENGTH, s - 1] = mine, n
    else:
        for e in range(n):
            vectors[other + e] = a * vectors[other + e] + b * vectors[mine + e]


@kernel()
def spread(s, small, n, first, links, places, vectors):
    """Expand the top answer's vector from a projection to its context; False: buffer full."""
    place = places[VECTOR, s]
    if place < 0:
        return True
    start = place + small
    if start + n > len(vectors):
        return False
    for e in range(n):
        vectors[start + e] = vectors[place + links[first + e]]
    places[VECTOR, s], places[LENGTH, s] = start, n
    return True


@kernel()
def times_projected(s, small, n, first, links, answers, places, vectors):
    """Multiply the answer below the top one by it, the top one being over a projection.

    Returns False where the buffer is full.
    """
    mine, other = places[VECTOR, s], places[VECTOR, s - 1]
    if mine < 0 or other < 0:
        if not spread(s, small, n, first, links, places, vectors):
            return False
        times(s, n, answers, places, vectors)
        return True
    answers[s - 1, SCALE] += answers[s, SCALE]
    scale_by(answers, s - 1, answers[s, FACTOR])
    for e in range(n):
        vectors[other + e] *= vectors[mine + links[first + e]]
    return True


@kernel()
def _collect(s, first, last, base, factor, links, places, vectors):
    """Add p_i q_i over the pairs of some regions; p is the top answer, q the one below the sum."""
    total, p, q = places[VECTOR, s - 1], places[VECTOR, s], places[VECTOR, s - 2]
    for i in range(links[base + first], links[base + last], 2):
        e, k = links[i], links[i + 1]
        value = factor if p < 0 else factor * vectors[p + e]
        vectors[total + e] += value if q < 0 else value * vectors[q + k]


@kernel()
def collect_boxes(code, n, s, ints, base, links, answers, places, vectors):
    """Add the top answer times the left child's to the sum, in some boxes."""
    if answers[s, FACTOR] <= 0.0:
        return
    scale = answers[s, SCALE] + log(answers[s, FACTOR])
    if scale > answers[s - 1, SCALE]:
        # The sum is kept at the largest scale of its terms.
        shrink = exp(answers[s - 1, SCALE] - scale)
        total = places[VECTOR, s - 1]
        for e in range(n):
            vectors[total + e] *= shrink
        answers[s - 1, SCALE] = scale
    if scale > -np.inf:
        first, last = ints[code + COLLECT_STEP.first], ints[code + COLLECT_STEP.last]
        factor = exp(scale - answers[s - 1, SCALE])
        _collect(s, first, last, base, factor, links, places, vectors)


@kernel()
def finish(s, n, answers, places, vectors):
    """Replace the left child's answer by the sum over the regions."""
    total, start = places[VECTOR, s], places[START, s - 1]
    largest = 0.0
    for e in range(n):
        vectors[start + e] = vectors[total + e]
        largest = max(largest, vectors[start + e])
    scale = answers[s, SCALE] + answers[s - 1, SCALE]
    if largest == 0.0 or answers[s - 1, FACTOR] <= 0.0 or scale == -np.inf:
        answers[s - 1, SCALE], answers[s - 1, FACTOR] = 0.0, 0.0
    else:
        # At most one, so that no product of many of them underflows.
        for e in range(n):
            vectors[start + e] /= largest
        answers[s - 1, SCALE] = scale + log(answers[s - 1, FACTOR]) + log(largest)
        answers[s - 1, FACTOR] = 1.0
    places[VECTOR, s - 1], places[LENGTH, s - 1] = start, n
    return s - 1
