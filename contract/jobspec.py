"""The job a tenant hands in: its shape, its bounds, and plain words for what is wrong with it.

``parse`` turns decoded JSON into a ``JobSpec`` with every default filled in;
what single fields cannot say (dependencies, total size, who reads whose
outputs) is checked by ``contract.jobrules``. Units stand last in names.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from contract import jobrules
from contract.base import Request
from contract.fields import (
    DAYS_30_S,
    DNS,
    NO_NUL,
    Command,
    Digest,
    EnvName,
    GroupName,
    HttpPath,
    JobName,
    LabelExpression,
    OutputName,
    PartitionName,
    PlaceName,
    PortName,
    QueuePath,
    RelativePath,
    Tag,
    Text,
    Whole,
)
from contract.problems import FieldError


class Resources(Request):
    """What one container gets. 1000 ``vcores_milli`` are one core."""

    memory_mib: Annotated[Whole, Field(ge=1, le=2**24)] = 256
    vcores_milli: Annotated[Whole, Field(ge=1, le=2**20)] = 1000
    gpus: Annotated[Whole, Field(ge=0, le=63)] = 0


class FileSpec(Request):
    """An uploaded artifact to place at ``path`` in the work folder; ``mode`` as for chmod, in decimal."""

    path: RelativePath
    digest: Digest
    size: Annotated[Whole, Field(ge=0)] = 0
    mode: Annotated[Whole, Field(ge=0, le=0o777)] = 0o644


class InputSpec(Request):
    """Outputs ``name`` of every task of ``group``, placed as ``path``; ``{index}`` is the producing task's."""

    group: GroupName
    name: OutputName
    path: RelativePath


class OutputSpec(Request):
    """The file ``path`` a task leaves behind, kept as ``name``."""

    name: OutputName
    path: RelativePath
    optional: bool = False


class Locality(Request):
    """Where tasks would rather run; without ``relax`` nowhere else."""

    nodes: Annotated[list[PlaceName], Field(max_length=256)] = []
    racks: Annotated[list[PlaceName], Field(max_length=64)] = []
    relax: bool = True


class PortSpec(Request):
    """A TCP port the node finds for each container: its number is in the container's HYDRA_PORT_<NAME>."""

    name: PortName


class HealthCheckSpec(Request):
    """How the node asks whether a container serves: ``http`` is a path to GET, ``tcp`` a mere connection."""

    port: PortName
    http: HttpPath | None = None
    tcp: bool = False
    interval_s: Annotated[float, Field(ge=1, le=3600)] = 10.0
    timeout_s: Annotated[float, Field(ge=0.1, le=60)] = 3.0
    start_s: Annotated[float, Field(ge=0, le=86400)] = 30.0
    failures: Annotated[Whole, Field(ge=1, le=100)] = 3


class GroupSpec(Request):
    """Tasks of one command and shape.

    ``gang``: all containers it wants at once, or none. ``parallelism``: quota
    for so many must be free before the job begins, where operators want it (0:
    none; of a gang all). ``partition``: null is the queue's own, "" the nodes
    of none. ``placement``: null is the cluster's.
    """

    name: GroupName
    count: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1
    command: Command
    shell: bool = False
    resources: Resources = Resources()
    env: Annotated[dict[EnvName, Text], Field(max_length=512)] = {}
    files: Annotated[list[FileSpec], Field(max_length=1000)] = []
    inputs: Annotated[list[InputSpec], Field(max_length=256)] = []
    outputs: Annotated[list[OutputSpec], Field(max_length=256)] = []
    after: Annotated[list[GroupName], Field(max_length=256)] = []
    retries: Annotated[Whole, Field(ge=0, le=100)] = 0
    timeout_s: Annotated[Whole, Field(ge=0, le=DAYS_30_S)] = 0
    grace_s: Annotated[float, Field(ge=0, le=3600)] = 5.0
    execution_type: Literal["guaranteed", "opportunistic"] = "guaranteed"
    locality: Locality = Locality()
    node_labels: LabelExpression = ""
    partition: PartitionName | None = None
    placement: Literal["spread", "pack"] | None = None
    gang: bool = False
    parallelism: Annotated[Whole, Field(ge=0, le=1_000_000)] = 0
    estimated_duration_s: Annotated[float, Field(ge=0, le=DAYS_30_S)] = 0.0
    ports: Annotated[list[PortSpec], Field(max_length=16)] = []
    health_check: HealthCheckSpec | None = None


class MasterSpec(Request):
    """The tenant's own application master: one container, which asks for the job's others. ``retries``: of itself."""

    command: Command
    shell: bool = False
    resources: Resources = Resources()
    env: Annotated[dict[EnvName, Text], Field(max_length=512)] = {}
    files: Annotated[list[FileSpec], Field(max_length=1000)] = []
    outputs: Annotated[list[OutputSpec], Field(max_length=256)] = []
    retries: Annotated[Whole, Field(ge=0, le=100)] = 1
    timeout_s: Annotated[Whole, Field(ge=0, le=DAYS_30_S)] = 0
    grace_s: Annotated[float, Field(ge=0, le=3600)] = 5.0
    locality: Locality = Locality()
    node_labels: LabelExpression = ""
    partition: PartitionName | None = None
    ports: Annotated[list[PortSpec], Field(max_length=16)] = []
    health_check: HealthCheckSpec | None = None


class JobSpec(Request):
    """A whole submission. ``files`` are placed for every group; ``priority`` null is the queue's usual one.

    An application has a ``master`` and no groups: its first group is made of
    the master, and what that asks for later makes others.
    """

    name: JobName
    kind: Literal["batch", "service", "application"] = "batch"
    queue: QueuePath = "root.default"
    priority: Annotated[Whole, Field(ge=-500, le=499)] | None = None
    tags: Annotated[list[Tag], Field(max_length=32)] = []
    files: Annotated[list[FileSpec], Field(max_length=1000)] = []
    groups: Annotated[list[GroupSpec], Field(max_length=256)] = []
    master: MasterSpec | None = None


# What to do about each kind of mistake; ``ctx`` values of pydantic's error are filled in.
REMEDIES = {
    "missing": "add the field",
    "extra_forbidden": "remove the field, or check its spelling",
    "string_type": "give a text",
    "string_unicode": "give valid Unicode text",
    "int_type": "give a whole number without quotes",
    "float_type": "give a number without quotes",
    "finite_number": "give a finite number",
    "bool_type": "give true or false",
    "list_type": "give a list",
    "dict_type": "give a mapping of names to values",
    "model_type": "give a mapping of fields",
    "greater_than_equal": "use {ge} or more",
    "less_than_equal": "use {le} or less",
    "greater_than": "use more than {gt}",
    "less_than": "use less than {lt}",
    "too_short": "give at least {min_length}",
    "too_long": "give at most {max_length}",
    "string_too_short": "give at least {min_length} character(s)",
    "string_too_long": "use at most {max_length} characters",
    "literal_error": "use {expected}",
    "path": "use a path relative to the work folder, such as data/in.csv",
    "labels": "write an expression such as gpu && !spot",
    "int_from_float": "give a whole number",
}
PATTERN_REMEDIES = {
    DNS: "use lower-case letters, digits and '-', beginning and ending with a letter or digit",
    NO_NUL: "remove the NUL character",
}
FIELD_REMEDIES = {
    "digest": "give the SHA-256 of the uploaded file, 64 lower-case hexadecimal digits",
    "queue": "give a queue's path, such as root.default",
    "partition": "give a partition's name, in lower-case letters, digits and '-'",
    "source": "upload the file with PUT /api/v1/artifacts/<sha256> and name its digest instead",
    "http": "give a path on the container's server, such as /healthz",
    "env": "use letters, digits and '_' in environment names, not beginning with a digit",
}


def _field(loc: tuple[int | str, ...]) -> str:
    """``("groups", 0, "command")`` as ``groups.0.command``; keys of mappings are cut to a readable length."""
    return ".".join(str(part)[:64] for part in loc if part != "[key]")


def _remedy(error: Any) -> str:
    name = str(error["loc"][-1]) if error["loc"] else ""
    if error["loc"] and name == "[key]":
        return FIELD_REMEDIES["env"]
    if name in FIELD_REMEDIES and error["type"] in {"string_pattern_mismatch", "extra_forbidden"}:
        return FIELD_REMEDIES[name]
    context = error.get("ctx") or {}
    if error["type"] == "string_pattern_mismatch":
        return PATTERN_REMEDIES.get(
            context.get("pattern", ""), "use letters, digits and the punctuation the tenants' guide names for it"
        )
    return REMEDIES.get(error["type"], "see the tenants' guide for what this field takes").format_map(context)


def explain(error: ValidationError, prefix: str = "") -> list[FieldError]:
    """pydantic's findings as field, message and remedy; at most 50 of them."""
    found = error.errors(include_url=False, include_input=False)[:50]
    return [FieldError(prefix + (_field(e["loc"]) or "job"), e["msg"], _remedy(e)) for e in found]


def parse(data: Any, prefix: str = "", max_tasks: int = 1_000_000) -> tuple[JobSpec | None, list[FieldError]]:
    """A valid spec and no errors, or no spec and what is wrong. ``prefix`` stands before each field's name."""
    try:
        spec = JobSpec.model_validate(data)
    except ValidationError as error:
        return None, explain(error, prefix)
    found = jobrules.parts(spec)
    if spec.master is not None and not found:
        _expand(spec, spec.master)
    found = found or jobrules.check(spec, max_tasks)
    if found:
        at = "master." if spec.master else "groups.0."
        return None, [FieldError(prefix + e.field.replace("groups.0.", at, 1), e.message, e.remedy) for e in found[:50]]
    return spec, []


def _expand(spec: JobSpec, master: MasterSpec) -> None:
    """An application's only group at first, number 0, is its master."""
    master.files, spec.files = spec.files + master.files, []
    spec.groups = [GroupSpec.model_construct(**(GroupSpec(name="master", command=[""]).__dict__ | master.__dict__))]


def merge_files(spec: JobSpec) -> JobSpec:
    """Move the files of the job into each of its groups, where the RM and the nodes look for them."""
    for group in spec.groups:
        group.files = spec.files + group.files
    spec.files = []
    return spec
