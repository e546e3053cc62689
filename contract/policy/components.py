"""The policies an RM and the Router choose from, with their parameters: the one place for bounds and defaults.

Durations are seconds, shares are 0 to 1.
"""

import json
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from contract.policy.federation import AmRmProxy, LeastLoaded, LocalityProxy, Routing
from contract.policy.parts import BackfillName, ComponentPart, Count, Seconds, Share
from contract.policy.shares import Admission, Shares


class PlacementParameters(ComponentPart):
    batch: Annotated[int, Field(ge=1, le=1_000_000, description="containers placed in one round at most")] = 10_000
    backfill: Annotated[
        BackfillName,
        Field(
            description="of queues that do not say: who may start before one that waits: all that fit (`none`), whoever"
            " does not delay the first (`easy`), whoever delays nobody (`conservative`), nobody (`strict`)"
        ),
    ] = "none"
    backfill_depth: Annotated[
        int, Field(ge=1, le=1000, description="asks that are promised a start in one round at most")
    ] = 100


class Placement(ComponentPart):
    """How nodes that have room are chosen from, where a job does not say so itself."""

    policy: Literal["spread", "pack", "align", "first_fit"] = "spread"
    parameters: PlacementParameters = PlacementParameters()


class LocalityParameters(ComponentPart):
    node_wait_s: Annotated[Seconds, Field(description="how long an ask holds out for a preferred node")] = 3.0
    rack_wait_s: Annotated[Seconds, Field(description="how much longer for a node in a preferred rack")] = 3.0
    node_misses: Annotated[Count, Field(description="or this many opportunities let pass; 0: by time only")] = 0
    rack_misses: Annotated[Count, Field(description="likewise for the rack")] = 0


class Locality(ComponentPart):
    """How long asks wait for the nodes and racks they prefer."""

    policy: Literal["delay"] = "delay"
    parameters: LocalityParameters = LocalityParameters()


class ReservationParameters(ComponentPart):
    after_s: Annotated[Seconds, Field(description="an ask too large to fit waits this long before it holds a node")] = (
        10.0
    )
    max_node_share: Annotated[Share, Field(description="of the nodes that may be held at a time; 0: none")] = 0.05
    max_s: Annotated[Seconds, Field(description="a node is held no longer than this")] = 600.0


class Reservation(ComponentPart):
    """Nodes kept free for asks too large to fit, so that they do not starve."""

    policy: Literal["reserve"] = "reserve"
    parameters: ReservationParameters = ReservationParameters()


class PreemptionParameters(ComponentPart):
    interval_s: Annotated[Seconds, Field(description="between two looks at what is owed")] = 1.0
    dead_zone: Annotated[Share, Field(description="of its guarantee a queue may be over without losing anything")] = 0.1
    natural_termination: Annotated[
        float, Field(gt=0, le=1, description="of what is owed that is taken in one round; the rest may end by itself")
    ] = 1.0
    per_round: Annotated[Share, Field(description="of the capacity that may be under warning at once")] = 0.1
    grace_s: Annotated[Seconds, Field(description="between the warning and the end of a container")] = 15.0
    intra_queue: Annotated[
        list[Literal["priority", "user_limit"]],
        Field(
            description="for what a queue's own containers give way: jobs of higher `priority`; other users who hold"
            " less of the leaf than their part (`user_limit`), which are then also served first among equals"
        ),
    ] = ["priority"]


class Preemption(ComponentPart):
    """Taking back what was lent; ``observe``: only told, and nothing is stopped; ``off``: nothing ever gives way."""

    policy: Literal["owed", "observe", "off"] = "owed"
    parameters: PreemptionParameters = PreemptionParameters()


class FailingNodesParameters(ComponentPart):
    job_failures: Annotated[int, Field(ge=1, le=1000, description="of one job on a node, then the job avoids it")] = 2
    max_node_share: Annotated[Share, Field(description="of the nodes that a job may avoid")] = 0.33


class FailingNodes(ComponentPart):
    """Nodes on which a job's containers keep failing are avoided by it."""

    policy: Literal["avoid"] = "avoid"
    parameters: FailingNodesParameters = FailingNodesParameters()


class RehomeParameters(ComponentPart):
    after_s: Annotated[Seconds, Field(ge=1, description="for how long nobody has led it")] = 60.0


class LostSubClusters(ComponentPart):
    """What becomes of jobs whose home nobody leads: new homes, or ``wait`` for its RM to come back."""

    policy: Literal["rehome", "wait"] = "rehome"
    parameters: RehomeParameters = RehomeParameters()


class Components(ComponentPart):
    """Every component with its policy; what the document leaves out has these defaults."""

    placement: Placement = Placement()
    locality: Locality = Locality()
    reservation: Reservation = Reservation()
    preemption: Preemption = Preemption()
    failing_nodes: FailingNodes = FailingNodes()
    lost_sub_clusters: LostSubClusters = LostSubClusters()
    routing: Routing = LeastLoaded()
    amrmproxy: AmRmProxy = LocalityProxy()
    shares: Shares = Shares()
    admission: Admission = Admission()


# What sub-clusters do with one another, or count together: two ways at once would contradict each other.
OF_THE_WHOLE = ("lost_sub_clusters", "routing", "amrmproxy", "shares", "admission")


def stored(document: dict[str, Any] | None) -> Components:
    """The components of a document that is in force. One that no longer fits this release's shape has the defaults."""
    return _stored(json.dumps(document or {}, sort_keys=True))


@lru_cache(maxsize=64)  # the same few are read by everybody and after every change
def _stored(text: str) -> Components:
    found: dict[str, Any] = {}
    for name, value in json.loads(text).items():
        try:
            found[name] = getattr(Components.model_validate({name: value}), name)
        except (ValidationError, AttributeError):
            continue
    return Components(**found)
