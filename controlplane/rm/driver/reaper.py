"""What becomes of a sub-cluster whose RM has gone silent: its jobs get new homes, its lost containers an end.

The reaper leads the sub-cluster for a moment, with the lease, the memory
and the round of an ordinary leader, and so under the same fence. Where nodes
still report, their containers run on for the jobs' new homes; where all are
silent, a last round ends what they held, so that it is started elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import structlog

from contract.policy.components import stored
from controlplane.policy.federation import routers
from controlplane.rm.driver.round import Duties, Round, RoundSettings
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Bus, Clock, Store
from controlplane.rm.steps.publish import Signer, documents
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.rehoming import Homeless
from controlplane.statestore.models import PolicyVersion, SubCluster
from controlplane.statestore.nodesets import ordered
from controlplane.statestore.queries.subclusters import places
from controlplane.statestore.queries.subclusters.homes import homes
from scheduler.federation.routing import RoutedJob, route
from wire import status
from wire.counts import counted
from wire.states import NodeState

log = structlog.get_logger(__name__)
_SEQ = 3  # of the fields of a status


def lost_after_s() -> float | None:
    """For how long nobody leads a sub-cluster before its jobs move, by the policy in force; None: they wait."""
    document = PolicyVersion.objects.filter(active=True).values_list("document__components", flat=True).first()
    policy = stored(document).lost_sub_clusters
    return policy.parameters.after_s if policy.policy == "rehome" else None


def declare_lost(sub: int, ended: int) -> None:
    """Say so where operators look; it is running again once an RM leads it and a node is up."""
    if SubCluster.objects.get(pk=sub).state != SubCluster.State.LOST:
        subclusters.lose(
            sub, f"nobody leads it and its nodes are silent; {counted(ended, 'container was', 'containers were')} lost"
        )


def reports(bus: Bus, clock: Clock, ids: Sequence[int], watch_s: float) -> bool:
    """Whether any of these nodes reports anything new within ``watch_s``.

    Raises ``BusDown``, also where Redis takes no writes: then nobody can report.
    """
    bus.probe()
    before, until = _numbers(bus, ids), clock.monotonic() + watch_s
    while ids and clock.monotonic() < until:
        clock.sleep(min(0.5, watch_s))
        if any(seq != old for seq, old in zip(_numbers(bus, ids), before, strict=True)):
            return True
    bus.probe()
    return False


def _numbers(bus: Bus, ids: Sequence[int]) -> list[int]:
    """The sequence number of each node's last status, 0 without one."""
    found = bus.statuses(ids)
    return [status.HEADER.unpack_from(p)[_SEQ] if p and len(p) >= status.HEADER.size else 0 for p in found]


def end_all(sub: int, m: Memory, store: Store, bus: Bus, clock: Clock, signer: Signer, settings: RoundSettings) -> int:
    """End what the sub-cluster's nodes held, as lost; how many containers that were."""
    held = len(m.containers)
    m.masters.lost = "its sub-cluster is lost: nobody leads it and its nodes are silent"
    last = Round(sub, m, store, bus, clock, signer, settings)
    last.proxy.next_s = np.inf  # whom to ask next is the new homes' to say
    everywhere = np.flatnonzero(m.nodes.state[: len(m.nodes)] <= NodeState.UNHEALTHY)
    last.run(Duties(lost=everywhere), answered=np.inf)
    _stop_nodes(sub, m, bus, signer, everywhere, clock.now_us() / 1e6 + settings.container_lease_s)
    return held


def _stop_nodes(sub: int, m: Memory, bus: Bus, signer: Signer, nodes: np.ndarray, expires_at: float) -> None:
    """Should one of these nodes come back before an RM does, it stops what it holds."""
    m.nodes.state[nodes] = NodeState.UNHEALTHY  # lost ones are told nothing
    m.dirty_nodes.update(nodes.tolist())
    bodies, templates = documents(m, sub, signer, int(expires_at), 0.0)
    bus.publish(bodies, templates)


def chooser(lost: int) -> Callable[[Sequence[Homeless]], Mapping[int, int]]:
    """New homes by the Router's policies, as if the jobs were submitted now; never ``lost``."""

    def choose(jobs: Sequence[Homeless]) -> dict[int, int]:
        document = PolicyVersion.objects.filter(active=True).values_list("document", flat=True).first()
        router, rng = routers(document), np.random.default_rng()
        candidates = [h.candidate() for h in homes() if h.id != lost and h.led]
        named = places.of_jobs([job.id for job in jobs if router(job.queue).follows_names])
        owned, found = places.owned(named), {}
        partitions = ordered((document or {}).get("partitions"))
        needs = places.needs_of_jobs([job.id for job in jobs], partitions)
        verdicts = places.verdicts(needs, [c.id for c in candidates], partitions)
        for job in jobs:
            containers = sum(group.count for group in named.get(job.id, ()))
            known = owned.get(job.id, {}), verdicts.get(job.id, {})
            ask = RoutedJob(job.name, job.queue, job.owner_id, job.demand, containers, *known)
            decision = route(candidates, ask, router(job.queue), float(rng.random()))
            if decision.home is not None:
                found[job.id] = decision.home.id
        return found

    return choose
