"""The container template of a task group: all that its tasks have in common.

Content-addressed JSON, published once per sub-cluster and cached by nodes; a
lease names it by SHA-256. Paths are relative to the work folder. A template
names the lowest version of this format that can read it, and no version means
1: what uses no newer field has the same bytes, and digest, as ever.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from wire.arrays import Array

VERSION = 4
# field -> the version that brought it; left out while it says nothing
ADDED = {"ports": 2, "health_check": 2, "master": 2, "array": 3, "secrets": 4}


class TemplateError(ValueError):
    """The bytes are no template that may be used; the text says why."""


@dataclass(frozen=True, slots=True)
class File:
    """An artifact to place at ``path``; ``mode`` as for chmod."""

    path: str
    digest: str  # SHA-256, hex
    size: int
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that the node asks the control plane for: in the variable ``env``, or else in the file ``path``."""

    name: str
    env: str = ""
    path: str = ""


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
class Port:
    """A TCP port the node finds for the container and tells it as ``port_variable(name)``."""

    name: str


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """How the node asks whether the container serves: GET ``http`` on ``port``, or a mere connection when it is "".

    Asked every ``interval_s``; no answer within ``timeout_s`` is a failure. For
    ``start_s`` after the start failures do not count, unless it served before.
    ``failures`` in a row end the container.
    """

    port: str
    http: str = ""
    interval_s: float = 10.0
    timeout_s: float = 3.0
    start_s: float = 30.0
    failures: int = 3


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
    master: bool = False  # an application master: its node fetches the token it speaks to the API with
    ports: list[Port] = field(default_factory=list)
    health_check: HealthCheck | None = None
    array: Array = field(default_factory=dict)  # values that differ from task to task, by index
    secrets: list[Secret] = field(default_factory=list)  # never their values


def port_variable(name: str) -> str:
    """The environment variable that holds the number of the port ``name``."""
    return "HYDRA_PORT_" + name.upper().replace("-", "_")


def encode(template: Template) -> bytes:
    """Canonical JSON, so that equal templates have equal digests."""
    values = _fields(template)
    for name, version in ADDED.items():
        if values[name]:
            values["version"] = max(version, values.get("version", 1))
        else:
            del values[name]
    return json.dumps(values, default=_fields, sort_keys=True, separators=(",", ":")).encode()


def _fields(part: Any) -> dict[str, Any]:
    """A part's fields as they are; ``dataclasses.asdict`` would copy every value of every job."""
    return {name: getattr(part, name) for name in part.__slots__}


def decode(data: bytes, digest: bytes) -> Template:
    """Read and check; ``TemplateError`` when the bytes are not those the digest names, or no template we read."""
    if hashlib.sha256(data).digest() != digest:
        raise TemplateError("the template does not match its digest")
    try:
        return _read(json.loads(data))
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise TemplateError(f"no template: {error!r}") from None
    except ValueError as error:
        raise TemplateError(f"no template: {error}") from None


def _read(raw: Any) -> Template:
    if raw.pop("version", 1) > VERSION:
        raise ValueError("it is of a newer version; update this node manager")
    raw["files"] = [File(**f) for f in raw["files"]]
    raw["inputs"] = [Input(**i) for i in raw["inputs"]]
    raw["outputs"] = [Output(**o) for o in raw["outputs"]]
    raw["ports"] = [Port(**p) for p in raw.get("ports", [])]
    raw["secrets"] = [Secret(**s) for s in raw.get("secrets", [])]
    if check := raw.get("health_check"):
        raw["health_check"] = HealthCheck(**check)
    return Template(**raw)
