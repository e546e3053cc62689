"""Limits of queues, between a document and the normal form of ``statestore.capacities``."""

from collections.abc import Mapping, Sequence

from contract.policy.limits import LimitByResource
from controlplane.statestore.capacities import ALL, NOTHING
from wire.resources import AXES, OF_AXIS

NormalLimit = dict[str, list[float]]


def normal(limit: LimitByResource, missing: NormalLimit) -> NormalLimit:
    """A limit in the normal form, with what ``missing`` has for a resource it leaves out."""
    given = [getattr(limit, axis) for axis in AXES]
    return {
        "share": [missing["share"][i] if a is None else a[0] for i, a in enumerate(given)],
        "units": [missing["units"][i] if a is None else a[1] for i, a in enumerate(given)],
    }


def capacity(guaranteed: LimitByResource | None, maximum: LimitByResource | None) -> dict[str, NormalLimit]:
    """What a queue may claim of one partition, in the normal form."""
    return {
        "guaranteed": normal(guaranteed, NOTHING) if guaranteed else NOTHING,
        "maximum": normal(maximum, ALL) if maximum else ALL,
    }


def written(limit: Mapping[str, Sequence[float]]) -> float | dict[str, float | str]:
    """A limit in the normal form as a document writes it: one share, or a mapping of resources."""
    if not any(limit["units"]) and len(set(limit["share"])) == 1:
        return limit["share"][0]
    return {
        axis: (OF_AXIS[axis].single if units == 1 else int(units)) if units else share
        for axis, share, units in zip(AXES, limit["share"], limit["units"], strict=True)
    }
