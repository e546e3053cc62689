"""What an application master may say of the containers it asks for, as types for checkers and editors.

A plain ``dict`` of the same is as good at run time. Fields that are left out
have the defaults given here; units stand last in names.
"""

from __future__ import annotations

from typing import TypedDict


class Resources(TypedDict, total=False):
    """Of each container: ``memory_mib`` (256), ``vcores_milli`` (1000, which are one core), ``gpus`` (0)."""

    memory_mib: int
    vcores_milli: int
    gpus: int


class Locality(TypedDict, total=False):
    """Names of ``nodes`` and ``racks`` where it would rather run; ``relax`` (true): elsewhere if there is no room."""

    nodes: list[str]
    racks: list[str]
    relax: bool


class Port(TypedDict):
    """A TCP port that the node finds for each container; its number is in ``HYDRA_PORT_<NAME>`` there."""

    name: str


class _Asked(TypedDict):
    port: str


class HealthCheck(_Asked, total=False):
    """How the node asks whether a container serves at ``port``, one of its ports: by ``http`` or ``tcp``.

    http: a path; a GET there must be answered with status 200 to 399. tcp: a
    connection is enough. interval_s (10): pause between two questions.
    timeout_s (3): of an answer. start_s (30): so long after its start failures
    do not count. failures (3): so many in a row, and the container is stopped:
    ``FAILED``, reason ``UNHEALTHY``.
    """

    http: str
    tcp: bool
    interval_s: float
    timeout_s: float
    start_s: float
    failures: int


class _Stored(TypedDict):
    path: str
    digest: str


class File(_Stored, total=False):
    """A file that is in Hydra already, placed as ``path``; ``ApplicationMaster.files`` makes them. ``mode``: (420)."""

    size: int
    mode: int


class _Named(TypedDict):
    name: str
    path: str


class Output(_Named, total=False):
    """The file ``path`` that a container leaves behind, kept as ``name``. ``optional`` (false): it may be missing."""

    optional: bool


class _Of(TypedDict):
    name: str


class Secret(_Of, total=False):
    """A secret that the master has itself: in the variable ``env`` or the file ``path`` of each container."""

    env: str | None
    path: str | None


class AskSpec(TypedDict, total=False):
    """What all containers of an ask have in common. It cannot change later; only the target can.

    node_labels: only nodes whose labels satisfy this, like ``gpu && !spot``.
    partition: None (the default) is the queue's own. gang (false): all that is
    missing is granted at once, or none of it. estimated_duration_s: how long a
    container runs, as far as you know; 0 (the default) is unknown. With a
    ``command``, all of them run it as soon as they are granted, and what stands
    below it here belongs to it; without one, ``launch`` says those things.
    shell: the command is one text for ``/bin/sh``. timeout_s: 0 is none.
    grace_s (5): from the polite signal to the kill.
    """

    resources: Resources
    locality: Locality
    node_labels: str
    partition: str | None
    gang: bool
    estimated_duration_s: float
    ports: list[Port]
    health_check: HealthCheck | None

    command: list[str] | str
    shell: bool
    env: dict[str, str]
    secrets: list[Secret]
    files: list[File]
    outputs: list[Output]
    timeout_s: int
    grace_s: float


class _At(TypedDict):
    port: str


class Tracking(_At, total=False):
    """The page on which the application shows how it is doing: ``path`` (``/``) at ``port``, one of the master's."""

    path: str
