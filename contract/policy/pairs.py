"""The router's and the AM-RM proxy's half of a policy as one value: taken together, checked together.

The cluster's pair is ``components.routing`` with ``components.amrmproxy``; a
queue's ``federation`` replaces it as a whole for that queue and all below it.
"""

from collections.abc import Iterator, Mapping
from typing import get_args

from contract.policy.document import PolicyDocument
from contract.policy.federation import PROXIES, Pair, WeightedRandomParameters
from contract.policy.parts import ComponentPart
from contract.problems import FieldError

# Which proxies may go with a router: the others would undo what it decides.
_ANY = tuple(name for part in PROXIES for name in get_args(part.model_fields["policy"].annotation))
PARTNERS: dict[str, tuple[str, ...]] = {
    "least_loaded": _ANY,
    "uniform": _ANY,
    "hash": _ANY,
    "weighted_random": ("locality", "home", "weighted"),  # broadcast asks those whom the weights leave out
    "priority": ("locality", "home", "weighted"),
    "locality": ("locality", "home"),  # the others do not look at names
    "local_first": ("locality", "home"),  # the others leave while there is room
    "reject": _ANY,
}


def pairs(document: PolicyDocument) -> Iterator[tuple[str, Pair]]:
    """Every pair a document gives, with the field it stands in: the cluster's, then those of queues."""
    yield "components", Pair(routing=document.components.routing, amrmproxy=document.components.amrmproxy)
    todo = [(f"queues.{name}", queue) for name, queue in document.queues.items()]
    for field, queue in todo:
        if queue.federation is not None:
            yield f"{field}.federation", queue.federation
        todo += [(f"{field}.children.{name}", child) for name, child in queue.children.items()]


def check(document: PolicyDocument) -> Iterator[FieldError]:
    """Halves that do not go together, and weights that leave nothing."""
    for field, pair in pairs(document):
        router, proxy = pair.routing.policy, pair.amrmproxy.policy
        if proxy not in PARTNERS[router]:
            yield FieldError(
                f"{field}.amrmproxy.policy",
                f"{proxy} would undo what routing by {router} decides",
                f"use one of: {', '.join(PARTNERS[router])}",
            )
        for half, part in (("routing", pair.routing), ("amrmproxy", pair.amrmproxy)):
            weights = weights_of(part)
            if weights and not any(weights.values()):
                where = f"{field}.{half}.parameters.weights"
                yield FieldError(where, "weighs every sub-cluster 0", "give at least one a weight above 0")
        chosen = pair.routing.parameters
        if isinstance(chosen, WeightedRandomParameters) and chosen.max_load <= chosen.min_load:
            where = f"{field}.routing.parameters.max_load"
            yield FieldError(where, f"is not above min_load, {chosen.min_load:g}", "use a larger one")
        yield from _left_out(field, pair)


def _left_out(field: str, pair: Pair) -> Iterator[FieldError]:
    """Homes to which the proxy would ask nothing of."""
    weights = weights_of(pair.amrmproxy)
    if not weights:
        return
    for name, weight in ((weights_of(pair.routing)) or dict.fromkeys(order_of(pair.routing), 1.0)).items():
        if weight > 0 and not weights.get(name):
            yield FieldError(
                f"{field}.amrmproxy.parameters.weights",
                f"gives {name!r} no weight, although routing may make it a home",
                f"add {name}, or take it out of routing",
            )


def weights_of(part: ComponentPart) -> Mapping[str, float]:
    """By sub-cluster's name; empty where the policy has none."""
    found: Mapping[str, float] = getattr(part.parameters, "weights", {})  # type: ignore[attr-defined]
    return found


def order_of(part: ComponentPart) -> list[str]:
    """The sub-clusters a policy goes through; empty where it has none."""
    found: list[str] = getattr(part.parameters, "order", [])  # type: ignore[attr-defined]
    return found
