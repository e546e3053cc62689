"""How jobs use several sub-clusters: the router's policies (a job's home) and the AM-RM proxy's (where its asks go).

Their names with the schema of their parameters, which the API and every editor read as JSON Schema. Which of the two
go together is in ``pairs``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Discriminator, Field, StringConstraints, Tag

from contract.atmost import AtMost
from contract.policy.parts import ComponentPart, NoParameters, Seconds, Share

SubClusterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=63)]
Weight = Annotated[float, Field(ge=0, le=1_000_000)]
Weights = Annotated[
    dict[SubClusterName, Weight],
    Field(max_length=1000, description="by sub-cluster; as soon as one is named, others weigh 0; none: all alike"),
]
Load = Annotated[float, Field(gt=0, le=1000)]


class RouterParameters(ComponentPart):
    fallback: Annotated[
        Literal["least_loaded", "uniform", "hash", "locality", "reject"],
        Field(description="decides where the policy names no sub-cluster that is up and not full"),
    ] = "least_loaded"
    full_load: Annotated[
        Load | None, Field(description="demand over capacity above which a sub-cluster is full; null: never")
    ] = None


class WeightedRandomParameters(RouterParameters):
    weights: Weights = {}
    load_based: Annotated[bool, Field(description="weights are lowered where more is wanted than there is")] = False
    min_load: Annotated[Load, Field(description="demand over capacity up to which a weight stays as it is")] = 1.0
    max_load: Annotated[Load, Field(description="demand over capacity from which on it is lowest")] = 2.0
    min_weight: Annotated[Share, Field(description="what is left of a weight then; 0: nothing")] = 0.0
    scaling: Annotated[
        Literal["linear", "quadratic", "log"], Field(description="how a weight falls between the two loads")
    ] = "linear"
    max_edit: Annotated[
        int | None, Field(ge=1, le=1000, description="so many of the most loaded are lowered; null: all")
    ] = None


class PriorityParameters(RouterParameters):
    weights: Annotated[Weights, Field(min_length=1)]


class HashParameters(RouterParameters):
    by: Literal["queue", "owner", "queue_and_owner"] = "queue"


class LocalFirstParameters(RouterParameters):
    order: Annotated[list[SubClusterName], AtMost(1000, least=1), Field(description="the first is local")]
    spill_load: Annotated[Load, Field(description="demand over capacity up to which one is used")] = 0.9


class RejectParameters(ComponentPart):
    message: Annotated[str, Field(max_length=255, description="what the tenant reads")] = ""


class LeastLoaded(ComponentPart):
    """Where the job leaves the lowest load."""

    policy: Literal["least_loaded"] = "least_loaded"
    parameters: RouterParameters = RouterParameters()


class Uniform(ComponentPart):
    """Any, with equal chance."""

    policy: Literal["uniform"]
    parameters: RouterParameters = RouterParameters()


class WeightedRandom(ComponentPart):
    """By chance, in proportion to weights."""

    policy: Literal["weighted_random"]
    parameters: WeightedRandomParameters = WeightedRandomParameters()


class Priority(ComponentPart):
    """The highest weight that is up."""

    policy: Literal["priority"]
    parameters: PriorityParameters


class Hash(ComponentPart):
    """The same home for the same queue or owner."""

    policy: Literal["hash"]
    parameters: HashParameters = HashParameters()


class LocalityRouting(ComponentPart):
    """Where most containers find the nodes, racks or labels they name."""

    policy: Literal["locality"]
    parameters: RouterParameters = RouterParameters()


class LocalFirst(ComponentPart):
    """The first of an order that has room."""

    policy: Literal["local_first"]
    parameters: LocalFirstParameters


class Reject(ComponentPart):
    """No job is taken."""

    policy: Literal["reject"]
    parameters: RejectParameters = RejectParameters()


class ProxyParameters(ComponentPart):
    relax_after_s: Annotated[
        Seconds, Field(description="an ask that its sub-cluster has not met by then may go to others")
    ] = 5.0
    interval_s: Annotated[float, Field(ge=0.05, le=3600, description="between two looks at what stands where")] = 0.5


class WeightedParameters(ProxyParameters):
    weights: Annotated[Weights, Field(description="by sub-cluster; none: those of the routing half")] = {}


class LocalityProxyParameters(WeightedParameters):
    alpha: Annotated[Share, Field(description="weight of headroom against weights: 1 looks at headroom only")] = 0.5
    prefer_home: Annotated[bool, Field(description="what the home has room for stays there")] = True


class HomeProxy(ComponentPart):
    """The home only."""

    policy: Literal["home"]
    parameters: NoParameters = NoParameters()


class BroadcastProxy(ComponentPart):
    """All that are up, alike."""

    policy: Literal["broadcast"]
    parameters: ProxyParameters = ProxyParameters()


class WeightedProxy(ComponentPart):
    """In proportion to weights."""

    policy: Literal["weighted"]
    parameters: WeightedParameters = WeightedParameters()


class LocalityProxy(ComponentPart):
    """Asks that name nodes or racks go to their sub-cluster; the rest by headroom and weights."""

    policy: Literal["locality"] = "locality"
    parameters: LocalityProxyParameters = LocalityProxyParameters()


TAG = "policy="  # what a place in an error has of the chosen policy; ``findings`` leaves it out


def _by_policy(*models: type[ComponentPart]) -> Any:
    """One of the parts, by its ``policy``; the first if that is left out."""
    names = {name: m for m in models for name in get_args(m.model_fields["policy"].annotation)}
    usual = next(iter(names))

    def tag(value: Any) -> str:
        name = value.get("policy", usual) if isinstance(value, Mapping) else getattr(value, "policy", usual)
        return f"{TAG}{name}"

    options = [Annotated[m, Tag(f"{TAG}{name}")] for name, m in names.items()]
    expected = ", ".join(repr(name) for name in names)
    unknown = Discriminator(
        tag,
        custom_error_type="policy_name",
        custom_error_message="there is no such policy",
        custom_error_context={"expected": expected},
    )
    union: Any = options[0]
    for option in options[1:]:
        union |= option
    return Annotated[union, unknown]


ROUTERS: tuple[type[ComponentPart], ...] = (
    LeastLoaded, Uniform, WeightedRandom, Priority, Hash, LocalityRouting, LocalFirst, Reject,
)  # fmt: skip
PROXIES: tuple[type[ComponentPart], ...] = (LocalityProxy, HomeProxy, BroadcastProxy, WeightedProxy)
if TYPE_CHECKING:
    Routing = LeastLoaded | Uniform | WeightedRandom | Priority | Hash | LocalityRouting | LocalFirst | Reject
    AmRmProxy = LocalityProxy | HomeProxy | BroadcastProxy | WeightedProxy
else:
    Routing = _by_policy(*ROUTERS)
    AmRmProxy = _by_policy(*PROXIES)


class Pair(ComponentPart):
    """Both halves as one value. A half that is left out has its default, not that of a queue above."""

    routing: Routing = LeastLoaded()
    amrmproxy: AmRmProxy = LocalityProxy()
