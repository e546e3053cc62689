"""What an operator can set about preemption."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reclaiming:
    """What is done about what was lent. plans: work out who gives way. stops: and stop that; else it is only told."""

    plans: bool
    stops: bool


POLICIES = {
    "owed": Reclaiming(plans=True, stops=True),
    "observe": Reclaiming(plans=True, stops=False),
    "off": Reclaiming(plans=False, stops=False),
}


@dataclass(frozen=True, slots=True)
class PreemptionPolicy:
    """The part of the policy document that preemption reads.

    reclaiming: one of ``POLICIES``. dead_zone: the part of its guarantee by which a queue (of his fair part, a
    user) may be over it without being made to pay. natural_termination: the
    part of a debt that is collected at a time, in the hope that the rest ends
    by itself. per_round: most that may be under warning at once, as a part of the
    sub-cluster's capacity; a single ask may need more. grace_s: between the
    warning and the kill.
    """

    reclaiming: Reclaiming = POLICIES["owed"]
    dead_zone: float = 0.1
    natural_termination: float = 1.0
    per_round: float = 0.1
    grace_s: float = 15.0
    intra_priority: bool = True
    intra_user: bool = False

    @property
    def takes(self) -> bool:
        """Whether anything that runs gives way."""
        return self.reclaiming.stops

    @property
    def observes(self) -> bool:
        """Whether it is only told what would."""
        return self.reclaiming.plans and not self.reclaiming.stops
