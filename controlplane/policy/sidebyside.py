"""Where the component policies of several sub-clusters differ: what an A/B comparison is about."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q

from contract.policy.components import Components, stored
from contract.policy.subclusters import effective_components, own_components
from controlplane.statestore.models import PolicyVersion

Json = dict[str, Any]


def holding(versions: Mapping[str, int | None]) -> dict[str, Components]:
    """The components that hold in each sub-cluster, by the version each runs. One query."""
    columns = ("pk", "active", "document__components", "document__sub_clusters")
    wanted = Q(pk__in=[v for v in versions.values() if v]) | Q(active=True)
    rows = PolicyVersion.objects.filter(wanted).values_list(*columns)
    in_force = next((components for _, active, components, _ in rows if active), None)
    documents = {pk: (components, sub_clusters) for pk, _, components, sub_clusters in rows}
    found = {}
    for name, version in versions.items():
        components, sub_clusters = documents.get(version or 0, (None, None))
        found[name] = stored(effective_components(in_force, components, own_components(sub_clusters, name)))
    return found


def differing(components: Mapping[str, Components]) -> list[Json]:
    """Settings with another value in one of them: [{"setting": path, "values": {name: value}}].

    components: by sub-cluster, as they hold there.
    """
    flat = {name: _flat("", found.model_dump()) for name, found in components.items()}
    settings = sorted({path for values in flat.values() for path in values})
    found: Iterator[Json] = ({"setting": path, "values": {n: flat[n].get(path) for n in flat}} for path in settings)
    return [s for s in found if any(v != next(iter(s["values"].values())) for v in s["values"].values())]


def _flat(prefix: str, value: Json) -> Json:
    """``{"placement": {"policy": "pack"}}`` as ``{"placement.policy": "pack"}``; weights by name stay together."""
    out: Json = {}
    for name, inner in value.items():
        path = f"{prefix}{name}".replace(".parameters.", ".")
        nested = isinstance(inner, dict) and name != "weights"
        out |= _flat(f"{prefix}{name}.", inner) if nested else {path: inner}
    return out
