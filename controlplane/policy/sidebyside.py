"""Where the component policies of several sub-clusters differ: what an A/B comparison is about."""

from collections.abc import Mapping
from typing import Any

from controlplane.policy.components import stored

Json = dict[str, Any]


def differing(components: Mapping[str, Json | None]) -> list[Json]:
    """Settings with another value in one of them: [{"setting": path, "values": {name: value}}]. By name, as stored."""
    flat = {name: _flat("", stored(found).model_dump()) for name, found in components.items()}
    settings = sorted({path for values in flat.values() for path in values})
    found = ({"setting": path, "values": {n: flat[n].get(path) for n in flat}} for path in settings)
    return [s for s in found if any(v != next(iter(s["values"].values())) for v in s["values"].values())]


def _flat(prefix: str, value: Json) -> Json:
    """``{"placement": {"policy": "pack"}}`` as ``{"placement.policy": "pack"}``; weights by name stay together."""
    out: Json = {}
    for name, inner in value.items():
        path = f"{prefix}{name}".replace(".parameters.", ".")
        nested = isinstance(inner, dict) and name != "weights"
        out |= _flat(f"{prefix}{name}.", inner) if nested else {path: inner}
    return out
