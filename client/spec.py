"""What a job file may say, checked before anything is uploaded.

The server checks again and has the last word; a field this client does not
know is therefore an error for ``hydractl validate`` only (``unknown=True``).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.problems import FieldError

GroupName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
JobName = Annotated[str, Field(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", max_length=128)]
OutputName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.]*$", max_length=63)]
PathText = Annotated[str, Field(min_length=1, max_length=255)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FileSpec(_Part):
    path: PathText
    source: str | None = None  # a local file or folder, relative to the job file
    digest: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    size: int | None = Field(default=None, ge=0)
    mode: int | None = Field(default=None, ge=0, le=0o777)


class InputSpec(_Part):
    group: str
    name: str
    path: PathText


class OutputSpec(_Part):
    name: OutputName
    path: PathText
    optional: bool = False


class Resources(_Part):
    memory_mib: int = Field(default=256, ge=1)
    vcores_milli: int = Field(default=1000, ge=1)
    gpus: int = Field(default=0, ge=0)


class Locality(_Part):
    nodes: list[str] = []
    racks: list[str] = []
    relax: bool = True


class PortSpec(_Part):
    name: str = Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=32)


class HealthCheck(_Part):
    port: str
    http: str | None = Field(default=None, pattern=r"^/", max_length=255)
    tcp: bool = False
    interval_s: float = Field(default=10, ge=1)
    timeout_s: float = Field(default=3, ge=0.1)
    start_s: float = Field(default=30, ge=0)
    failures: int = Field(default=3, ge=1)


class GroupSpec(_Part):
    name: GroupName
    count: int = Field(default=1, ge=1)
    command: list[str] | str = Field(min_length=1)
    shell: bool = False
    resources: Resources = Resources()
    env: dict[str, str] = {}
    files: list[FileSpec] = []
    inputs: list[InputSpec] = []
    outputs: list[OutputSpec] = []
    after: list[str] = []
    retries: int = Field(default=0, ge=0)
    timeout_s: int = Field(default=0, ge=0)
    grace_s: float = Field(default=5, ge=0)
    execution_type: Literal["guaranteed", "opportunistic"] = "guaranteed"
    locality: Locality = Locality()
    node_labels: str = ""
    partition: str | None = Field(default=None, max_length=63)
    placement: Literal["spread", "pack"] | None = None
    gang: bool = False
    parallelism: int = Field(default=0, ge=0)
    estimated_duration_s: float | None = Field(default=None, ge=0)
    ports: list[PortSpec] = Field(default=[], max_length=16)
    health_check: HealthCheck | None = None


class MasterSpec(_Part):
    command: list[str] | str = Field(min_length=1)
    shell: bool = False
    resources: Resources = Resources()
    env: dict[str, str] = {}
    files: list[FileSpec] = []
    outputs: list[OutputSpec] = []
    retries: int = Field(default=1, ge=0)
    timeout_s: int = Field(default=0, ge=0)
    grace_s: float = Field(default=5, ge=0)
    locality: Locality = Locality()
    node_labels: str = ""
    partition: str | None = Field(default=None, max_length=63)
    ports: list[PortSpec] = Field(default=[], max_length=16)
    health_check: HealthCheck | None = None


class JobSpec(_Part):
    name: JobName
    kind: Literal["batch", "service", "application"] = "batch"
    queue: str | None = None
    priority: int | None = Field(default=None, ge=-500, le=499)
    tags: list[str] = []
    files: list[FileSpec] = []
    groups: list[GroupSpec] = []
    master: MasterSpec | None = None


_MODELS: dict[str, type[_Part]] = {
    "files": FileSpec, "inputs": InputSpec, "outputs": OutputSpec, "groups": GroupSpec,
    "resources": Resources, "locality": Locality,
    "ports": PortSpec, "health_check": HealthCheck, "master": MasterSpec,
}  # fmt: skip


def problems(spec: dict[str, Any], *, unknown: bool = True) -> list[FieldError]:
    """Everything wrong with a spec (before or after packing); with ``unknown`` also fields nobody here knows."""
    try:
        job = JobSpec.model_validate(spec)
    except ValidationError as error:
        found = [e for e in error.errors() if unknown or e["type"] != "extra_forbidden"]
        return _once([_field_error(dict(e)) for e in found])
    return _parts(job) or [*_commands(job), *_references(job)]


def _field_error(error: dict[str, Any]) -> FieldError:
    # pydantic names the branch of a union after the field; people know only the field.
    loc = tuple(p for p in error["loc"] if not (isinstance(p, str) and (p == "str" or p.startswith("list["))))
    where = dotted(loc)
    if error["type"] == "extra_forbidden":
        known = list(_model_at(loc).model_fields)
        close = get_close_matches(str(loc[-1]), known, 1)
        remedy = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(known)}."
        return FieldError(where, "there is no such field", remedy)
    if error["type"] == "missing":
        return FieldError(where, "this field is required", "Add it")
    if where.endswith(".command"):
        return FieldError(where, "must be a list of words, or with shell: true one string", "Write [python3, work.py]")
    return FieldError(where, str(error["msg"]), _remedy(error))


def _remedy(error: dict[str, Any]) -> str:
    if error["type"] == "string_pattern_mismatch":
        return "Use lower-case letters, digits and '-', beginning and ending with a letter or digit"
    if error["type"] == "string_type":
        return f"Put it in quotes: {error['input']!r} is not text in YAML"
    return ""


def _model_at(loc: tuple[Any, ...]) -> type[_Part]:
    """The model that a location's last field should have belonged to."""
    return next((_MODELS[p] for p in reversed(loc[:-1]) if p in _MODELS), JobSpec)


def dotted(loc: tuple[Any, ...]) -> str:
    """("groups", 0, "count") -> ``groups.0.count``, as the server writes it too."""
    return ".".join(str(part) for part in loc)


def _once(errors: list[FieldError]) -> list[FieldError]:
    return list({(e.field, e.message): e for e in errors}.values())


def _parts(job: JobSpec) -> list[FieldError]:
    """Whether the job has what its kind needs, and nothing else."""
    if job.kind == "application":
        if job.master is None:
            return [FieldError("master", "an application needs a master", "Add its command")]
        if job.groups:
            return [FieldError("groups", "an application's master asks for its groups", "Remove them")]
    elif job.master is not None:
        return [FieldError("master", f"a job of kind {job.kind} has no master", "Remove it, or use kind: application")]
    elif not job.groups:
        return [FieldError("groups", "there is none", "Give at least 1")]
    return []


def _commands(job: JobSpec) -> list[FieldError]:
    wrong = []
    of_master: list[tuple[str, MasterSpec | GroupSpec]] = [("master", job.master)] if job.master else []
    for where, group in [*of_master, *((f"groups.{number}", group) for number, group in enumerate(job.groups))]:
        if isinstance(group.command, str) and not group.shell and len(group.command.split()) > 1:
            wrong.append(
                FieldError(
                    f"{where}.command",
                    "one string is a script for a shell",
                    "Write a list of words, or add shell: true",
                )
            )
    return wrong


def _references(job: JobSpec) -> list[FieldError]:
    """Names that point nowhere, twice-used names, circles, inputs of groups that need not have ended."""
    wrong: list[FieldError] = []
    groups = {group.name: group for group in job.groups}
    seen: set[str] = set()
    for number, group in enumerate(job.groups):
        where = f"groups.{number}"
        if group.name in seen:
            wrong.append(FieldError(f"{where}.name", f"{group.name!r} names two groups", "Rename one of them"))
        seen.add(group.name)
        for other in group.after:
            if other not in groups:
                wrong.append(FieldError(f"{where}.after", f"there is no group {other!r}", _choices(groups)))
        before = _before(group.name, groups)
        if group.name in before:
            wrong.append(FieldError(f"{where}.after", "the group waits for itself in a circle", "Break the circle"))
        wrong.extend(_inputs(where, group, groups, before))
    return wrong


def _inputs(where: str, group: GroupSpec, groups: dict[str, GroupSpec], before: set[str]) -> list[FieldError]:
    wrong = []
    for number, wanted in enumerate(group.inputs):
        at = f"{where}.inputs.{number}"
        source = groups.get(wanted.group)
        if source is None:
            wrong.append(FieldError(f"{at}.group", f"there is no group {wanted.group!r}", _choices(groups)))
            continue
        if wanted.group not in before:
            wrong.append(
                FieldError(
                    f"{at}.group", f"{group.name!r} does not wait for {wanted.group!r}", f"Add {wanted.group} to after"
                )
            )
        if wanted.name not in {output.name for output in source.outputs}:
            names = ", ".join(output.name for output in source.outputs) or "none"
            wrong.append(
                FieldError(f"{at}.name", f"{wanted.group!r} has no output {wanted.name!r}", f"Its outputs: {names}")
            )
        if source.count > 1 and "{index}" not in wanted.path:
            wrong.append(
                FieldError(
                    f"{at}.path",
                    f"the {source.count} tasks of {wanted.group!r} would overwrite one another",
                    "Put {index} into the path",
                )
            )
    return wrong


def _before(name: str, groups: dict[str, GroupSpec]) -> set[str]:
    """Every group that must have ended before ``name`` starts."""
    found: set[str] = set()
    todo = list(groups[name].after)
    while todo:
        each = todo.pop()
        if each in groups and each not in found:
            found.add(each)
            todo.extend(groups[each].after)
    return found


def _choices(groups: dict[str, GroupSpec]) -> str:
    return f"The groups are: {', '.join(groups)}"
