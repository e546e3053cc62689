"""Which state may follow which. An unlisted pair is an error, told with the object's story."""

from typing import TypeVar

from wire.states import ContainerState as C
from wire.states import GroupState as G
from wire.states import JobState as J
from wire.states import TaskState as T

S = TypeVar("S")

JOB: dict[J, frozenset[J]] = {
    J.SUBMITTED: frozenset({J.ADMITTED, J.FAILED, J.KILLED}),
    J.ADMITTED: frozenset({J.RUNNING, J.KILLING, J.FAILED, J.KILLED}),
    J.RUNNING: frozenset({J.KILLING, J.SUCCEEDED, J.FAILED, J.KILLED}),
    J.KILLING: frozenset({J.KILLED, J.FAILED}),
    J.SUCCEEDED: frozenset(),
    J.FAILED: frozenset(),
    J.KILLED: frozenset(),
}

GROUP: dict[G, frozenset[G]] = {
    G.WAITING: frozenset({G.PENDING, G.KILLED}),
    G.PENDING: frozenset({G.RUNNING, G.SUCCEEDED, G.KILLED, G.FAILED}),
    G.RUNNING: frozenset({G.PENDING, G.SUCCEEDED, G.FAILED, G.KILLED}),
    G.SUCCEEDED: frozenset(),
    G.FAILED: frozenset(),
    G.KILLED: frozenset(),
}

TASK: dict[T, frozenset[T]] = {
    T.PENDING: frozenset({T.RUNNING, T.KILLED}),
    T.RUNNING: frozenset({T.PENDING, T.SUCCEEDED, T.FAILED, T.KILLED}),
    T.SUCCEEDED: frozenset(),
    T.FAILED: frozenset(),
    T.KILLED: frozenset(),
}

_ENDS = frozenset({C.SUCCEEDED, C.FAILED, C.KILLED, C.LOST})
# A node reports states, not changes, so steps in between may never be seen.
CONTAINER: dict[C, frozenset[C]] = {
    C.ALLOCATED: frozenset({C.LOCALIZING, C.RUNNING}) | _ENDS,
    C.LOCALIZING: frozenset({C.RUNNING}) | _ENDS,
    C.RUNNING: _ENDS,
    C.SUCCEEDED: frozenset(),
    C.FAILED: frozenset(),
    C.KILLED: frozenset(),
    C.LOST: frozenset(),
}


class TransitionError(RuntimeError):
    """A change that no table lists: a bug, never a user's mistake."""


def check(table: dict[S, frozenset[S]], old: S, new: S, context: str) -> S:
    """``new`` if ``table`` lists it after ``old``; otherwise raises with ``context``."""
    if new not in table[old]:
        raise TransitionError(f"{context}: {old!r} -> {new!r}")
    return new
