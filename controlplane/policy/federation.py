"""The router's and the AM-RM proxy's half of a policy as one value: taken together, checked together.

The cluster's pair is ``components.routing`` with ``components.amrmproxy``; a
queue's ``federation`` replaces it as a whole for that queue and all below it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from contract.problems import FieldError
from controlplane.policy.components import Components, stored
from controlplane.policy.federationparts import Pair, WeightedRandomParameters
from controlplane.policy.parts import ComponentPart
from controlplane.statestore.models import SubCluster
from scheduler.federation.routing import Router, router
from scheduler.federation.split import ProxyPolicy
from scheduler.registry import SPLITTING

if TYPE_CHECKING:
    from controlplane.policy.documents import PolicyDocument

Json = dict[str, Any]
# Which proxies may go with a router: the others would undo what it decides.
_ANY = tuple(SPLITTING)
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


def pairs(document: "PolicyDocument") -> Iterator[tuple[str, Pair]]:
    """Every pair a document gives, with the field it stands in: the cluster's, then those of queues."""
    yield "components", Pair(routing=document.components.routing, amrmproxy=document.components.amrmproxy)
    todo = [(f"queues.{name}", queue) for name, queue in document.queues.items()]
    for field, queue in todo:
        if queue.federation is not None:
            yield f"{field}.federation", queue.federation
        todo += [(f"{field}.children.{name}", child) for name, child in queue.children.items()]


def check(document: "PolicyDocument") -> Iterator[FieldError]:
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
            weights = _weights(part)
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
    weights = _weights(pair.amrmproxy)
    if not weights:
        return
    for name, weight in ((_weights(pair.routing)) or dict.fromkeys(_order(pair.routing), 1.0)).items():
        if weight > 0 and not weights.get(name):
            yield FieldError(
                f"{field}.amrmproxy.parameters.weights",
                f"gives {name!r} no weight, although routing may make it a home",
                f"add {name}, or take it out of routing",
            )


def unknown(document: "PolicyDocument", sub_clusters: Collection[str] | None = None) -> list[FieldError]:
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
        yield from ((f"{at}.weights.{name}", name) for name in _weights(part))
        yield from ((f"{at}.order.{i}", name) for i, name in enumerate(_order(part)))


def _weights(part: ComponentPart) -> Mapping[str, float]:
    found: Mapping[str, float] = getattr(part.parameters, "weights", {})  # type: ignore[attr-defined]
    return found


def _order(part: ComponentPart) -> list[str]:
    found: list[str] = getattr(part.parameters, "order", [])  # type: ignore[attr-defined]
    return found


def _by_path(document: Json | None, components: Components) -> Callable[[str], Pair]:
    """The pair of a queue's path: its own, or that of the nearest queue above that has one, or the cluster's."""
    usual = Pair(routing=components.routing, amrmproxy=components.amrmproxy)
    own: dict[str, Pair] = {}
    todo = [(f"root.{name}", queue) for name, queue in ((document or {}).get("queues") or {}).items()]
    for path, queue in todo:
        if queue.get("federation") is not None:
            try:
                own[path] = Pair.model_validate(queue["federation"])
            except ValidationError:
                pass  # of another release: as if it were not there
        todo += [(f"{path}.{name}", child) for name, child in (queue.get("children") or {}).items()]

    def of(path: str) -> Pair:
        while own and path:
            if path in own:
                return own[path]
            path = path.rpartition(".")[0]
        return usual

    return of


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
    weights = (given.pop("weights") or _weights(pair.routing)) if "weights" in given else {}
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
