"""A job's specification as the StateStore keeps it, read.

It was checked when it was submitted, perhaps by an older release: what is left out has the default of
``contract.jobspec``, and what this release does not know is passed over. Nothing is checked again, as a new leader
reads a hundred thousand of them at once. What cannot be read raises ``ArithmeticError``, ``AttributeError``,
``LookupError``, ``TypeError`` or ``ValueError``.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import BaseModel

from contract.jobspec import (
    ContainerSpec,
    FileSpec,
    GroupSpec,
    HealthCheckSpec,
    Locality,
    OutputSpec,
    Resources,
    SecretSpec,
)
from contract.masters import Runs
from wire.arrays import Array
from wire.resources import AXES
from wire.template import File, HealthCheck, Input, Output, Port, Secret

Json = dict[str, Any]


def _defaults(model: type[BaseModel]) -> Json:
    """What the contract says of the model's fields where they are left out."""
    return model.model_construct().model_dump()


GROUP = _defaults(GroupSpec)  # a group as it is stored, but for what every group has to say
_RESOURCES, _LOCALITY = _defaults(Resources), _defaults(Locality)
_RUNS, _CONTAINER = _defaults(Runs), _defaults(ContainerSpec)
_FILE, _OUTPUT, _HEALTH_CHECK = _defaults(FileSpec), _defaults(OutputSpec), _defaults(HealthCheckSpec)
_SECRET = _defaults(SecretSpec)
_NOBODY: dict[str, list[str]] = {}  # one for all jobs that name none


@dataclass(slots=True)
class StoredGroup:
    """A task group, as ``GroupSpec`` says; all of it that an RM needs.

    resources: what one container gets, along the axis of resources. files: the job's, then its own; groups without
    files of their own share one list. nodes, racks, relax: its locality. Of what an
    application master asks for, target: how many it wants now, of the ``count`` that it has ever wanted; held: each
    container is granted first, and launched later.
    """

    name: str
    count: int
    command: list[str]
    shell: bool
    resources: tuple[int, ...]
    env: dict[str, str]
    secrets: list[Secret]
    files: list[File]
    inputs: list[Input]
    outputs: list[Output]
    after: list[str]
    retries: int
    timeout_s: int
    grace_s: float
    nodes: tuple[str, ...]
    racks: tuple[str, ...]
    relax: bool
    node_labels: str
    partition: str | None
    placement: str | None
    gang: bool
    parallelism: int
    estimated_duration_s: float
    ports: list[Port]
    health_check: HealthCheck | None
    array: Array
    target: int
    held: bool


class StoredContainer(NamedTuple):
    """``parallelism`` containers that an application master says it needs at once, beside itself."""

    parallelism: int
    resources: tuple[int, ...]
    partition: str | None


@dataclass(slots=True)
class StoredJob:
    """queue: the one it was submitted to, None where an older release did not say. notify: who of its owner's receivers
    is told of it, by event. tags: each once.
    """

    queue: str | None
    groups: list[StoredGroup]
    declared: StoredContainer | None
    notify: dict[str, list[str]]
    tags: tuple[str, ...]


def job(raw: Json) -> StoredJob:
    """The specification of a job."""
    files = _files(raw.get("files") or [])
    groups = [group(each, files) for each in raw["groups"]]
    tags = tuple(dict.fromkeys(raw.get("tags") or ()))
    return StoredJob(raw.get("queue"), groups, _declared(raw.get("master")), _notify(raw.get("notify") or []), tags)


def group(raw: Json, of_job: list[File] | None = None) -> StoredGroup:
    """One of a job's groups, or what an application master asks for. of_job: files that all groups of the job have."""
    g = GROUP | raw
    locality = _LOCALITY | g["locality"]
    return StoredGroup(
        name=g["name"],
        count=g["count"],
        command=_words(g["command"]),
        shell=g["shell"],
        resources=_amounts(g["resources"]),
        env=g["env"],
        secrets=_secrets(g["secrets"]),
        files=[*(of_job or ()), *_files(g["files"])] if g["files"] else of_job or [],
        inputs=[Input(each["group"], each["name"], each["path"]) for each in g["inputs"]],
        outputs=_outputs(g["outputs"]),
        after=g["after"],
        retries=g["retries"],
        timeout_s=g["timeout_s"],
        grace_s=g["grace_s"],
        nodes=tuple(locality["nodes"]),
        racks=tuple(locality["racks"]),
        relax=locality["relax"],
        node_labels=g["node_labels"],
        partition=g["partition"],
        placement=g["placement"],
        gang=g["gang"],
        parallelism=g["parallelism"],
        estimated_duration_s=g["estimated_duration_s"],
        ports=[Port(each["name"]) for each in g["ports"]],
        health_check=_health_check(g["health_check"]),
        array=g["array"],
        target=g["target"] if "target" in g else g["count"],
        held=bool(g.get("held")),
    )


def launched(of: StoredGroup, raw: Json) -> StoredGroup:
    """What one container of the group runs, as its application master says in a launch."""
    said = _RUNS | raw
    return replace(
        of,
        command=_words(said["command"]),
        shell=said["shell"],
        env=said["env"],
        secrets=_secrets(said["secrets"]),
        files=_files(said["files"]),
        outputs=_outputs(said["outputs"]),
        timeout_s=said["timeout_s"],
        grace_s=said["grace_s"],
    )


def _declared(raw: Json | None) -> StoredContainer | None:
    if not (raw and raw.get("parallelism") and raw.get("container")):
        return None
    container = _CONTAINER | raw["container"]
    return StoredContainer(raw["parallelism"], _amounts(container["resources"]), container["partition"])


def _notify(raw: list[Json]) -> dict[str, list[str]]:
    if not raw:
        return _NOBODY
    found: dict[str, list[str]] = {}
    for each in raw:
        for event in each["events"]:
            found.setdefault(event, []).append(each["receiver"])
    return found


def _amounts(raw: Json) -> tuple[int, ...]:
    said = _RESOURCES | raw
    return tuple([said[name] for name in AXES])


def _words(command: list[str] | str) -> list[str]:
    return command if isinstance(command, list) else [command]


def _files(raw: list[Json]) -> list[File]:
    said = (_FILE | each for each in raw)
    return [File(each["path"], each["digest"], each["size"], each["mode"]) for each in said]


def _secrets(raw: list[Json]) -> list[Secret]:
    said = (_SECRET | each for each in raw)
    return [Secret(each["name"], each["env"] or "", each["path"] or "") for each in said]


def _outputs(raw: list[Json]) -> list[Output]:
    said = (_OUTPUT | each for each in raw)
    return [Output(each["name"], each["path"], each["optional"]) for each in said]


def _health_check(raw: Json | None) -> HealthCheck | None:
    if not raw:
        return None
    said = _HEALTH_CHECK | raw
    timing = said["interval_s"], said["timeout_s"], said["start_s"], said["failures"]
    return HealthCheck(said["port"], said["http"] or "", *timing)
