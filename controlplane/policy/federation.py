"""Which router and which AM-RM proxy hold for a queue, made from a stored document; ``contract.policy.pairs``."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from contract.policy.components import Components, stored
from contract.policy.document import PolicyDocument
from contract.policy.federation import Pair
from contract.policy.pairs import order_of, pairs, weights_of
from contract.problems import FieldError
from controlplane.policy.queuerules import nearest_own, stored_queues
from controlplane.statestore.models import SubCluster
from scheduler.federation.routing import Router, router
from scheduler.federation.split import ProxyPolicy
from scheduler.registry import SPLITTING

Json = dict[str, Any]


def unknown(document: PolicyDocument, sub_clusters: Collection[str] | None = None) -> list[FieldError]:
    """Names of sub-clusters that do not exist: none of these, or none in the StateStore.

    One query at most, and only where any is named.
    """
    named = [(where, name) for field, pair in pairs(document) for where, name in _named(field, pair)]
    named += [(f"sub_clusters.{name}", name) for name in document.sub_clusters]
    if not named:
        return []
    there = set(SubCluster.objects.values_list("name", flat=True) if sub_clusters is None else sub_clusters)
    known = ", ".join(sorted(there)[:20]) or "none"
    return [
        FieldError(where, f"there is no sub-cluster {name!r}", f"use one of: {known}")
        for where, name in named
        if name not in there
    ]


def _named(field: str, pair: Pair) -> Iterator[tuple[str, str]]:
    for half, part in (("routing", pair.routing), ("amrmproxy", pair.amrmproxy)):
        at = f"{field}.{half}.parameters"
        yield from ((f"{at}.weights.{name}", name) for name in weights_of(part))
        yield from ((f"{at}.order.{i}", name) for i, name in enumerate(order_of(part)))


def _by_path(document: Json | None, components: Components) -> Callable[[str], Pair]:
    """The pair of a queue's path: its own, or that of the nearest queue above that has one, or the cluster's."""
    usual = Pair(routing=components.routing, amrmproxy=components.amrmproxy)
    own: dict[str, Pair] = {}
    for path, queue in stored_queues((document or {}).get("queues")):
        if queue.get("federation") is not None:
            try:
                own[path] = Pair.model_validate(queue["federation"])
            except ValidationError:
                pass  # of another release: as if it were not there
    return nearest_own(own, usual)


def proxy_policies(
    document: Json | None, sub_clusters: Mapping[str, int], components: Json | None = None
) -> Callable[[str], ProxyPolicy]:
    """The proxy's half for a queue's path, from a stored document.

    ``sub_clusters``: numbers by name. ``components``: another version's, for
    what queues do not say themselves, where a sub-cluster has those of a stage.
    """
    by_path = _by_path(document, stored((document or {}).get("components") if components is None else components))
    made: dict[str, ProxyPolicy] = {}

    def of(path: str) -> ProxyPolicy:
        if path not in made:
            made[path] = _proxy(by_path(path), sub_clusters)
        return made[path]

    return of


def _proxy(pair: Pair, sub_clusters: Mapping[str, int]) -> ProxyPolicy:
    part = pair.amrmproxy
    given: Json = part.parameters.model_dump()
    weights = (given.pop("weights") or weights_of(pair.routing)) if "weights" in given else {}
    # One that is not there yet keeps its weight under no sub-cluster's number, so that the others still weigh 0.
    by_number = {sub_clusters.get(name, -no): w for no, (name, w) in enumerate(weights.items(), 1)}
    prefer_home = given.pop("prefer_home", not SPLITTING[part.policy].leaves_home)
    return ProxyPolicy(part.policy, weights=by_number, prefer_home=prefer_home, **given)


def reaches(document: Json | None, sub_clusters: Mapping[str, int]) -> Callable[[str, Sequence[int]], list[int]]:
    """To which of these sub-clusters tasks of a queue's jobs may go; the first that is given is the jobs' home."""
    of_queue = proxy_policies(document, sub_clusters)

    def reach(queue: str, subs: Sequence[int]) -> list[int]:
        may = of_queue(queue).reach(subs).tolist()
        return [sub for sub, reached in zip(subs, may, strict=True) if reached]

    return reach


def routers(document: Json | None) -> Callable[[str], Router]:
    """The router's half for a queue's path, from a stored document."""
    by_path = _by_path(document, stored((document or {}).get("components")))
    made: dict[str, Router] = {}

    def of(path: str) -> Router:
        if path not in made:
            part = by_path(path).routing
            made[path] = router(part.policy, **part.parameters.model_dump())
        return made[path]

    return of
