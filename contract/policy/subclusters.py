"""What the RM of one sub-cluster does otherwise than the others: ``sub_clusters`` of the policy document.

Its schema follows from that of the components; nothing in it has a default,
since what it leaves out, down to a single parameter, is the cluster's.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from contract.policy.components import OF_THE_WHOLE, Components
from contract.policy.parts import ComponentPart

Json = dict[str, Any]


def _own(part: type[ComponentPart], fields: Iterable[tuple[str, FieldInfo]]) -> Any:
    """The same fields, of which each may be left out."""
    found: dict[str, Any] = {}
    for name, field in fields:
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, ComponentPart):
            kind = _own(kind, kind.model_fields.items())
        found[name] = (Annotated[(kind | None, *field.metadata, Field(description=field.description))], None)
    return create_model(f"Own{part.__name__}", __base__=ComponentPart, __doc__=part.__doc__, **found)


if TYPE_CHECKING:
    OwnComponents = Components
else:
    OwnComponents = _own(Components, ((n, f) for n, f in Components.model_fields.items() if n not in OF_THE_WHOLE))
    OwnComponents.__doc__ = "Of one sub-cluster's RM. What is left out is the cluster's."


class SubClusterPolicy(ComponentPart):
    """What holds in one sub-cluster only: to compare two ways, or to suit its nodes."""

    components: Annotated[OwnComponents | None, Field(description="what its RM does otherwise than the others")] = None


def effective_components(in_force: Json | None, version: Json | None, own: Json | None) -> Json:
    """The components that hold in a sub-cluster.

    in_force: those of the version in force, from which what concerns all
    sub-clusters is always taken. version: those of the version the sub-cluster
    runs, which is another one while that is rolled out. own: what that
    version says of this sub-cluster alone.
    """
    whole = {name: value for name, value in (in_force or {}).items() if name in OF_THE_WHOLE}
    each = {name: value for name, value in (version or {}).items() if name not in OF_THE_WHOLE}
    return _over(each, own or {}) | whole


def own_components(sub_clusters: Mapping[str, Any] | None, name: str) -> Json:
    """What ``sub_clusters`` of a stored document says of one."""
    return ((sub_clusters or {}).get(name) or {}).get("components") or {}


def _over(under: Json, over: Mapping[str, Any]) -> Json:
    """One mapping over another, mappings in them likewise."""
    both = {n: _over(under.get(n) or {}, v) if isinstance(v, dict) else v for n, v in over.items() if v is not None}
    return under | both
