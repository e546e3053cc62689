"""The policy document's components as a round reads them."""

from contract.policy.components import Components
from scheduler.placement.place import PlacementPolicy
from scheduler.preemption.policy import PreemptionPolicy
from scheduler.registry import PLACEMENT, PREEMPTION
from scheduler.round import RoundPolicy


def round_policy(c: Components) -> RoundPolicy:
    """What operators wrote, in the scheduler's terms."""
    locality, reservation, preemption = c.locality.parameters, c.reservation.parameters, c.preemption.parameters
    return RoundPolicy(
        PlacementPolicy(
            fill=PLACEMENT[c.placement.policy],
            batch=c.placement.parameters.batch,
            backfill_depth=c.placement.parameters.backfill_depth,
            node_wait_s=locality.node_wait_s,
            rack_wait_s=locality.rack_wait_s,
            node_misses=locality.node_misses,
            rack_misses=locality.rack_misses,
            reserve_after_s=reservation.after_s,
            reserve_max_node_share=reservation.max_node_share,
            reserve_max_s=reservation.max_s,
        ),
        PreemptionPolicy(
            reclaiming=PREEMPTION[c.preemption.policy],
            dead_zone=preemption.dead_zone,
            natural_termination=preemption.natural_termination,
            per_round=preemption.per_round,
            grace_s=preemption.grace_s,
            intra_priority="priority" in preemption.intra_queue,
            intra_user="user_limit" in preemption.intra_queue,
        ),
    )
