"""The states of jobs, task groups, tasks and containers, as stored and sent.

Numbers are part of the wire and of the tables: add, never renumber. Which
change may follow which is in ``scheduler.lifecycle.transitions``.
"""

from enum import IntEnum, IntFlag


class JobState(IntEnum):
    SUBMITTED = 0  # durable; its home RM has not taken it in yet, or a limit keeps it waiting
    ADMITTED = 1  # it may run; nothing does yet
    RUNNING = 2  # at least one container has been allocated
    KILLING = 3  # a kill was asked for; containers are being stopped
    SUCCEEDED = 10
    FAILED = 11
    KILLED = 12


class GroupState(IntEnum):
    WAITING = 0  # a group named in ``after`` has not succeeded yet
    PENDING = 1  # asks are out, nothing runs
    RUNNING = 2
    SUCCEEDED = 10
    FAILED = 11
    KILLED = 12


class TaskState(IntEnum):
    PENDING = 0
    RUNNING = 1
    SUCCEEDED = 10
    FAILED = 11
    KILLED = 12


class ContainerState(IntEnum):
    ALLOCATED = 0  # committed by the RM; the node has not reported it
    LOCALIZING = 1  # the node fetches its files
    RUNNING = 2
    SUCCEEDED = 10
    FAILED = 11
    KILLED = 12
    LOST = 13  # its node fell silent or no longer knows it


class ContainerReason(IntEnum):
    """Why a container ended, beside its exit code."""

    NONE = 0
    EXIT_CODE = 1  # the command ended with a non-zero status
    SIGNAL = 2  # the command was ended by a signal nobody here sent; exit code 128 + signal
    TIMEOUT = 3
    MEMORY = 4  # over its memory limit
    LOCALIZATION = 5  # a file could not be fetched or failed its digest
    START = 6  # the command could not be started
    OUTPUT = 7  # a named output is missing or could not be stored
    STOPPED = 8  # stopped because the desired document said so
    LEASE = 9  # its lease was refused
    NODE_LOST = 10
    VANISHED = 11  # the node obeyed a document naming it, yet does not hold it
    EXIT_UNKNOWN = 12  # it ended while nobody could record its status
    DISCONNECTED = 13  # the node was cut off longer than max_disconnect_s
    DRAINED = 14  # stopped to empty its node; it starts again elsewhere
    PREEMPTED = 15  # made way for what another queue is owed, or for a more important job
    UNHEALTHY = 16  # its health check failed too often in a row
    UNUSED = 17  # granted to an application master that did not say in time what to run
    UNREACHABLE = 18  # files could not be fetched or stored, as the control plane did not answer for long
    SECRET = 19  # a secret that it names is not there any more, or cannot be read


class NodeState(IntEnum):
    REGISTERED = 0  # has credentials, has not reported yet
    UP = 1
    UNHEALTHY = 2  # reports a fault; holds its containers, gets no new ones
    LOST = 3
    DECOMMISSIONED = 4


LIVE_NODE_MAX = int(NodeState.UNHEALTHY)  # the last of the states in which a node counts as capacity


class NodeHealth(IntFlag):
    """Faults a node reports in its status; any of them stops new containers."""

    OK = 0
    DISK_FULL = 1
    WORK_FOLDER_READONLY = 2
    SUPERVISOR_DOWN = 4
    SCRIPT = 8  # the operator's health script says so, or has not said anything yet


class Want(IntEnum):
    """What the desired document asks of one container; an omitted one is stopped and forgotten."""

    RUN = 1
    STOP = 2
    HOLD = 3  # granted, and in no document until its application master says what to run


class ExecutionType(IntEnum):
    GUARANTEED = 0
    OPPORTUNISTIC = 1


TERMINAL = 10  # the first of the states of jobs, groups, tasks and containers that can never change again


def terminal(state: int) -> bool:
    """Whether a job, group, task or container in ``state`` can never change again."""
    return state >= TERMINAL


# Ends before a process began, or of which nobody saw the status.
_NO_EXIT = frozenset(
    {
        ContainerReason.LOCALIZATION, ContainerReason.START, ContainerReason.LEASE, ContainerReason.NODE_LOST,
        ContainerReason.VANISHED, ContainerReason.EXIT_UNKNOWN, ContainerReason.UNUSED, ContainerReason.SECRET,
    }
)  # fmt: skip


def reported_exit(state: int, reason: int, began: bool, code: int | None) -> int | None:
    """The exit code that its node reported of an ended container; ``None`` where its process had no exit to report.

    began: whether its process is known to have run. code: as it is stored, 0 where there was none.
    """
    if state == ContainerState.LOST or reason in _NO_EXIT:
        return None
    unseen = not began and state != ContainerState.SUCCEEDED
    return None if unseen and code == 0 else code
