"""The job a tenant hands in: its shape, its bounds, and plain words for what is wrong with it.

``parse`` turns decoded JSON into a ``JobSpec`` with every default filled in;
what single fields cannot say (dependencies, total size, who reads whose
outputs) is checked by ``contract.jobrules``. Units stand last in names.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from contract import jobrules
from contract.atmost import MOST, AtMost
from contract.base import Request
from contract.fields import (
    SPAN,
    Command,
    Digest,
    EnvName,
    Estimate,
    Gpus,
    Grace,
    GroupName,
    HttpPath,
    JobName,
    LabelExpression,
    MemoryMib,
    OutputName,
    PartitionName,
    PlaceName,
    PortName,
    QueuePath,
    RelativePath,
    SecretName,
    Tag,
    Text,
    Timeout,
    VcoresMilli,
    Whole,
)
from contract.findings import explain
from contract.notifications import NotifySpec
from contract.parameters import Declarations, Given, fill
from contract.problems import FieldError
from contract.salvage import Unreadable, sound
from contract.values import ArrayOfValues
from wire import arrays
from wire.counts import counted
from wire.resources import AXES, NOTHING, Amounts, amounts

GROUP_NAME_MAX = 63
_QUEUE_PATH: TypeAdapter[str] = TypeAdapter(QueuePath)


class Resources(Request):
    """What one container gets. 1000 ``vcores_milli`` are one core."""

    memory_mib: MemoryMib = 256
    vcores_milli: VcoresMilli = 1000
    gpus: Gpus = 0

    @property
    def amounts(self) -> Amounts:
        """Along the axis of resources."""
        return amounts(getattr(self, axis) for axis in AXES)


class FileSpec(Request):
    """An uploaded artifact to place at ``path`` in the work folder; ``mode`` as for chmod, in decimal."""

    path: RelativePath
    digest: Digest
    size: Annotated[Whole, Field(ge=0)] = 0
    mode: Annotated[Whole, Field(ge=0, le=0o777)] = 0o644


class SecretSpec(Request):
    """A secret of the job's owner: the task's variable ``env``, or the file ``path``, which its user alone reads."""

    name: SecretName
    env: EnvName | None = None
    path: RelativePath | None = None


Secrets = Annotated[list[SecretSpec], AtMost(16)]


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

    nodes: Annotated[list[PlaceName], AtMost(256)] = []
    racks: Annotated[list[PlaceName], AtMost(64)] = []
    relax: bool = True


class PortSpec(Request):
    """A TCP port the node finds for each container: its number is in the container's HYDRA_PORT_<NAME>."""

    name: PortName


class HealthCheckSpec(Request):
    """How the node asks whether a container serves: ``http`` is a path to GET, ``tcp`` a mere connection."""

    port: PortName
    http: HttpPath | None = None
    tcp: bool = False
    interval_s: Annotated[float, Field(ge=1, le=3600), SPAN] = 10.0
    timeout_s: Annotated[float, Field(ge=0.1, le=60), SPAN] = 3.0
    start_s: Annotated[float, Field(ge=0, le=86400), SPAN] = 30.0
    failures: Annotated[Whole, Field(ge=1, le=100)] = 3


class GroupSpec(Request):
    """Tasks of one command and shape.

    ``gang``: all containers it wants at once, or none. ``parallelism``: quota
    for so many must be free before the job begins, where operators want it (0:
    none; of a gang all). ``partition``: null is the queue's own, "" the nodes
    of none. ``placement``: null is the cluster's. ``array``: values that differ
    from task to task; it decides the count.
    """

    name: GroupName
    count: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1
    command: Command
    shell: bool = False
    resources: Resources = Resources()
    env: Annotated[dict[EnvName, Text], AtMost(512)] = {}
    secrets: Secrets = []
    files: Annotated[list[FileSpec], AtMost(1000)] = []
    inputs: Annotated[list[InputSpec], AtMost(256)] = []
    outputs: Annotated[list[OutputSpec], AtMost(256)] = []
    after: Annotated[list[GroupName], AtMost(256)] = []
    retries: Annotated[Whole, Field(ge=0, le=100)] = 0
    timeout_s: Timeout = 0
    grace_s: Grace = 5.0
    execution_type: Literal["guaranteed", "opportunistic"] = "guaranteed"
    locality: Locality = Locality()
    node_labels: LabelExpression = ""
    partition: PartitionName | None = None
    placement: Literal["spread", "pack"] | None = None
    gang: bool = False
    parallelism: Annotated[Whole, Field(ge=0, le=1_000_000)] = 0
    estimated_duration_s: Estimate = 0.0
    ports: Annotated[list[PortSpec], AtMost(16)] = []
    health_check: HealthCheckSpec | None = None
    array: ArrayOfValues = {}


class ContainerSpec(Request):
    """What a container will be like that nobody asks for yet. ``partition``: null is the queue's own."""

    resources: Resources = Resources()
    partition: PartitionName | None = None


class MasterSpec(Request):
    """The tenant's own application master: one container, which asks for the job's others. ``retries``: of itself.

    ``parallelism``: quota for the master and so many of ``container`` must be
    free before the job begins, where operators want it (0: none).
    """

    command: Command
    shell: bool = False
    resources: Resources = Resources()
    env: Annotated[dict[EnvName, Text], AtMost(512)] = {}
    secrets: Secrets = []
    files: Annotated[list[FileSpec], AtMost(1000)] = []
    outputs: Annotated[list[OutputSpec], AtMost(256)] = []
    retries: Annotated[Whole, Field(ge=0, le=100)] = 1
    timeout_s: Timeout = 0
    grace_s: Grace = 5.0
    locality: Locality = Locality()
    node_labels: LabelExpression = ""
    partition: PartitionName | None = None
    parallelism: Annotated[Whole, Field(ge=0, le=1_000_000)] = 0
    container: ContainerSpec | None = None
    ports: Annotated[list[PortSpec], AtMost(16)] = []
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
    tags: Annotated[list[Tag], AtMost(32)] = []
    notify: Annotated[list[NotifySpec], AtMost(8)] = []
    files: Annotated[list[FileSpec], AtMost(1000)] = []
    groups: Annotated[list[GroupSpec], AtMost(256)] = []
    master: MasterSpec | None = None

    @property
    def demand(self) -> Amounts:
        """What all its tasks need together."""
        each = [[g.count * amount for amount in g.resources.amounts] for g in self.groups]
        return amounts(map(sum, zip(NOTHING, *each, strict=True)))


class JobRequest(JobSpec):
    """A job as it is sent: ``${{ name }}`` in any of its texts stands for the value of a parameter.

    ``parameters``: by name a default, null where it has to be given, or its type, default and help. ``set``: values.
    """

    parameters: Declarations = {}
    set: Given = {}


def parse(data: Any, prefix: str = "", max_tasks: int = 1_000_000) -> tuple[JobSpec | None, list[FieldError]]:
    """A valid spec and no errors, or no spec and what is wrong, of very much the first.

    ``prefix`` stands before each field's name. Values of the job's parameters are put in first.
    """
    filled = fill(data, JobSpec)
    if filled.given_up:
        return None, told(filled.wrong, filled.job, prefix)
    spec, found, untold = _judged(filled.job, max_tasks)
    wrong = filled.wrong + [each for each in found if each.field not in filled.unknown]
    return (None, told(wrong, filled.job, prefix, untold)) if wrong else (spec, [])


def _judged(data: Any, max_tasks: int) -> tuple[JobSpec | None, list[FieldError], int]:
    """The job, without its fields of a wrong shape, what is wrong, and how much more is.

    data: without parameters.
    """
    wrong, left, unreadable = list[FieldError](), data, Unreadable()
    spec: JobSpec | None
    try:
        spec = JobSpec.model_validate(data)
    except ValidationError as error:
        wrong = explain(error, JobSpec)
        if error.error_count() > len(wrong):  # very much is: nothing else is looked at
            return None, wrong, error.error_count() - len(wrong)
        spec, left, unreadable = _salvaged(error, data)
    if spec is not None:
        found = _rules(left, spec, max_tasks, unreadable.kind)
        wrong += [each for each in found if each.field not in unreadable] if wrong else found
    return spec, wrong, 0


def _salvaged(error: ValidationError, data: Any) -> tuple[JobSpec | None, Any, Unreadable]:
    """The job without what has the wrong shape; none where it is no job at all."""
    if not isinstance(data, dict):
        return None, data, Unreadable()
    left, unreadable = sound(data, [each["loc"] for each in error.errors(include_url=False, include_input=False)])
    try:
        return JobSpec.model_validate(left), left, unreadable
    except ValidationError:
        return None, data, unreadable


def queue_of(data: Any) -> str | None:
    """The path of the queue that a job names, perhaps by leaving it out, whatever else is wrong with the job."""
    path = data.get("queue", JobSpec.model_fields["queue"].default) if isinstance(data, dict) else None
    try:
        return _QUEUE_PATH.validate_python(path, strict=True)
    except ValidationError:
        return None


def told(found: list[FieldError], data: Any, prefix: str = "", untold: int = 0) -> list[FieldError]:
    """Errors of one job with the names of their groups; of very many the first, and how many more there are.

    untold: that are not among those found.
    """
    groups = data.get("groups") if isinstance(data, dict) else None
    more = len(found) + untold - MOST
    shown = found if more <= 0 else found[: MOST - 1]
    said = [replace(e, field=prefix + e.field, group=e.group or _group_of(e.field, groups)) for e in shown]
    if more > 0:
        what = f"has at least {counted(len(found) + untold - len(shown), 'more error')}"
        said.append(FieldError(prefix.rstrip(".") or "job", what, "correct those that are told first"))
    return said


def _group_of(field: str, groups: Any) -> str:
    """The name of the group that a field is in, as far as it has one."""
    first, _, rest = field.partition(".")
    no = rest.partition(".")[0]
    if first != "groups" or not no.isdecimal() or not isinstance(groups, list) or int(no) >= len(groups):
        return ""
    name = groups[int(no)].get("name") if isinstance(groups[int(no)], dict) else None
    return name[:GROUP_NAME_MAX] if isinstance(name, str) else ""


def _rules(data: dict[str, Any], spec: JobSpec, max_tasks: int, kindless: bool) -> list[FieldError]:
    """What rules over several fields find. kindless: it is not known what the job is made of."""
    found = [] if kindless else jobrules.parts(spec)
    alone = spec.master is not None and not spec.groups and not found
    if spec.master is not None and alone:
        _expand(spec, spec.master)
    found += _counted(spec)
    found += [*_scripts([data["master"]] if alone else data.get("groups") or []), *jobrules.check(spec, max_tasks)]
    return [replace(e, field=e.field.replace("groups.0.", "master.", 1)) for e in found] if alone else found


def _counted(spec: JobSpec) -> list[FieldError]:
    """A group with an array has as many tasks as that has values."""
    found = []
    for no, group in enumerate(spec.groups):
        count = arrays.size(group.array) if group.array else group.count
        if "count" in group.model_fields_set and group.count != count:
            message = f"is {group.count}, and its array comes to {counted(count, 'task')}"
            found.append(FieldError(f"groups.{no}.count", message, "leave it out"))
        group.count = count
    return found


def _scripts(groups: list[dict[str, Any]]) -> list[FieldError]:
    """Commands that are one text of several words, which is no program's name, without a shell to read them."""
    remedy = "write a list of words, or add shell: true"
    return [
        FieldError(f"groups.{i}.command", "one text of several words is a script for a shell", remedy)
        for i, group in enumerate(groups)
        if isinstance(group["command"], str) and not group.get("shell") and len(group["command"].split()) > 1
    ]


def _expand(spec: JobSpec, master: MasterSpec) -> None:
    """An application's only group at first, number 0, is its master."""
    master.files, spec.files = spec.files + master.files, []
    own = master.__dict__ | {"parallelism": 0}  # that is said of its other containers
    spec.groups = [GroupSpec.model_construct(**(GroupSpec(name="master", command=[""]).__dict__ | own))]
