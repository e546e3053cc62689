"""The tables of a selection of victims: claims, candidates, and who owes how much.

Named tuples of arrays, for kernels; all are written to. Indices: i a claim, x a
candidate, n a node, p a payer, k a resource, g a group of claims.
"""

from typing import NamedTuple, cast

import numpy as np

ROUNDING = 1e-6  # of a resource unit: what rounding may cost
TAKE, GIVE = cast(int, np.int64(1)), cast(int, np.int64(-1))  # Numba would compile a literal by itself

# States in ``PreemptionCandidates.state``
PREEMPTABLE = 0
VICTIM = 1
EXEMPT = 2  # ends soon, or is protected

# How a claim may have one more container
NOTHING = 0  # not at all
ENTITLED = 1  # its row is owed all of it
EXCEPTION = 2  # its row holds nothing, and is owed some of it

# When what is taken begins to count against the bound of a round
AT_ONCE = 0
AT_END_OF_GANG = 1  # once the gang is served, of which nothing was taken yet
DUE = 2  # as before, and something was taken

# Positions in ``PreemptionCandidates.flags``
LOG_SIZE = 0
BOUND_APPLIES = 1  # anything has been taken, so that the bound counts
BOUND_FROM = 2  # AT_ONCE, AT_END_OF_GANG or DUE
NONE_WARNED = 3  # no candidate is warned
ENTITLEMENT = 4  # of the present claim: NOTHING, ENTITLED or EXCEPTION
BOUND_REFUSED = 5  # the bound let one stay that is no master; no master is taken from then on
RESTART = 6  # the present claim may take what the one before it passed over
EXCEPTION_FAILED = 7  # an exception of the present group has found nothing, as no other will
FLAGS = 8


class PreemptionClaims(NamedTuple):
    """k asks that may have room made for them, alike ones (but for their balance) in groups.

    groups: (g + 1,) int64 offsets. balance: (k,) int32 row of ``Balances``, -1 when nobody counts what is taken and
    given. units: (k,) int64 containers. shape: (k, r) int64. mask: (k,) int32, row of
    ``nodes`` (m, n) bool. ask: (k,) int32. reserved_for: (n,) int32, the ask that a node is reserved for, or -1.
    below_priority: (k,) int64, only containers of lower priority. swap: (k,) bool, what is taken must be as much as
    what is asked. gang: (k,) bool. first, last: (g,) int64, the part of the candidates that a group looks through.
    """

    groups: np.ndarray
    balance: np.ndarray
    units: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    nodes: np.ndarray
    ask: np.ndarray
    reserved_for: np.ndarray
    below_priority: np.ndarray
    swap: np.ndarray
    gang: np.ndarray
    first: np.ndarray
    last: np.ndarray


class Balances(NamedTuple):
    """p rows, queues or users: who owes, and who is owed.

    debt, owed: (p, r) float64 units. containers: (p,) int64 that it holds. starving: (p,) bool, holds nothing at all
    and may begin a container that is larger than what it is owed.
    """

    debt: np.ndarray
    owed: np.ndarray
    containers: np.ndarray
    starving: np.ndarray


class PreemptionCandidates(NamedTuple):
    """c running containers in the order in which they are to go, and their nodes.

    node, payer, claim: (c,) int64; payer: row of ``Balances``, or -1; claim: what it is chosen for, or -1. priority:
    (c,) int64. shape: (c, r) int64. warned: (c,) bool. master: (c,) bool, application masters, after all others.
    state: (c,) int8, ``PREEMPTABLE``, ``VICTIM`` or ``EXEMPT``. room: (n, r) int64, free now or soon.
    taken, total: (1, r) int64, of the round and of the present node. bound: (r,) int64, what a round may take.
    smallest: (r,) int64, least of what any candidate holds.

    Candidates that were passed are gathered on their nodes until one fits there: head, tail: (n,) and next: (c,)
    int64 are the lists, gathered: (n, r) int64 their sums. taken_now: (c,) int64, of a list those that are taken.
    log: (l,) int64, what was done for a gang. flags: (FLAGS,) int64, see ``LOG_SIZE`` and what follows.
    """

    node: np.ndarray
    payer: np.ndarray
    priority: np.ndarray
    shape: np.ndarray
    warned: np.ndarray
    master: np.ndarray
    state: np.ndarray
    claim: np.ndarray
    room: np.ndarray
    taken: np.ndarray
    bound: np.ndarray
    smallest: np.ndarray
    total: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    next: np.ndarray
    gathered: np.ndarray
    log: np.ndarray
    flags: np.ndarray
    taken_now: np.ndarray
