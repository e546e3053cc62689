"""The container template of a task group: all that its tasks have in common.

Content-addressed JSON, published once per sub-cluster and cached by nodes; a
lease names it by SHA-256. Paths are relative to the work folder.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class File:
    """An artifact to place at ``path``; ``mode`` as for chmod."""

    path: str
    digest: str  # SHA-256, hex
    size: int
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Input:
    """Outputs ``name`` of every task of ``group``, placed as ``path`` (may hold ``{index}``)."""

    group: str
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Output:
    """The file ``path`` the task leaves behind, collected as ``name``."""

    name: str
    path: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Template:
    job_name: str
    group: str
    count: int
    queue: str
    user: str
    command: list[str]  # argv; with ``shell`` exactly one string, run by /bin/sh -c
    shell: bool = False
    env: dict[str, str] = field(default_factory=dict)
    files: list[File] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    grace_s: float = 5.0  # between the polite signal and the kill
    log_max_bytes: int = 4 * 1024 * 1024  # kept per stream
    simulated_s: float = 0.0  # run time that hollow nodes pretend; real nodes ignore it


def encode(template: Template) -> bytes:
    """Canonical JSON, so that equal templates have equal digests."""
    return json.dumps(template, default=_fields, sort_keys=True, separators=(",", ":")).encode()


def _fields(part: Any) -> dict[str, Any]:
    """A part's fields as they are; ``dataclasses.asdict`` would copy every value of every job."""
    return {name: getattr(part, name) for name in part.__slots__}


def decode(data: bytes, digest: bytes) -> Template:
    """Read and check; ``ValueError`` when the bytes are not those the digest names."""
    if hashlib.sha256(data).digest() != digest:
        raise ValueError("the template does not match its digest")
    raw = json.loads(data)
    raw["files"] = [File(**f) for f in raw["files"]]
    raw["inputs"] = [Input(**i) for i in raw["inputs"]]
    raw["outputs"] = [Output(**o) for o in raw["outputs"]]
    return Template(**raw)
