"""Jobs as people write them, of one group unless others are given."""

from typing import Any

DIGEST = "ab" * 32


def group(**fields: Any) -> dict[str, Any]:
    return {"name": "map", "command": ["true"]} | fields


def job(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "a-job", "groups": list(groups) or [group()]} | fields


def file(path: str) -> dict[str, Any]:
    return {"path": path, "digest": DIGEST}
