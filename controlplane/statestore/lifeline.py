"""A sub-cluster's life: which step leads from which state to which, and what to do instead of one that does not."""

from enum import StrEnum

from controlplane.statestore.errors import Conflict
from controlplane.statestore.models import SubCluster

State = SubCluster.State


class Step(StrEnum):
    JOIN = "join"  # an RM leads it and a node of it is up
    DRAIN = "drain"
    RESUME = "resume"
    LOSE = "lose"  # its RM and its nodes are silent
    FIND = "find"  # they are back
    FIND_DRAINING = "find draining"  # they are back, and were being emptied
    DECOMMISSION = "decommission"


MOVES: dict[tuple[State, Step], State] = {
    (State.JOINING, Step.JOIN): State.RUNNING,
    (State.JOINING, Step.DECOMMISSION): State.DECOMMISSIONED,
    (State.RUNNING, Step.DRAIN): State.DRAINING,
    (State.RUNNING, Step.LOSE): State.LOST,
    (State.DRAINING, Step.DRAIN): State.DRAINING,  # another deadline or message
    (State.DRAINING, Step.RESUME): State.RUNNING,
    (State.DRAINING, Step.LOSE): State.LOST,
    (State.DRAINING, Step.DECOMMISSION): State.DECOMMISSIONED,
    (State.LOST, Step.FIND): State.RUNNING,
    (State.LOST, Step.FIND_DRAINING): State.DRAINING,
    (State.LOST, Step.DECOMMISSION): State.DECOMMISSIONED,
}

# No drain empties it, as nobody leads it, and no kill is heard there until somebody does. The page says the same.
LEAVE_LOST = (
    "its jobs leave by themselves once routing gives them another home; to stop them instead, start a worker for queue "
    "rm.{name}, then: hydractl kill JOB... (hydractl jobs --state live --limit 0 --columns job,name,home tells which)"
)
_INSTEAD = {
    (State.JOINING, Step.DRAIN): "nothing runs there yet; it can be decommissioned",
    (State.JOINING, Step.RESUME): "it runs by itself once a worker leads it and a node is up",
    (State.RUNNING, Step.RESUME): "there is nothing to resume",
    (State.RUNNING, Step.DECOMMISSION): "drain it first: hydractl sub-cluster drain {name}",
    (State.LOST, Step.DRAIN): LEAVE_LOST,
    (State.LOST, Step.RESUME): "it runs again by itself when its RM leads and its nodes report",
}


def after(sub_cluster: SubCluster, step: Step) -> State:
    """The state this step leads to; ``Conflict`` when it leads nowhere from here."""
    now = State(sub_cluster.state)
    found = MOVES.get((now, step))
    if found is None:
        instead = _INSTEAD.get((now, step), "")
        if now is State.DECOMMISSIONED:
            instead = "it has left for good; register it under another name"
        text = f"sub-cluster {sub_cluster.name} is {now.value}, which does not allow: {step.value}"
        raise Conflict(f"{text}; {instead.format(name=sub_cluster.name)}" if instead else text)
    return found
