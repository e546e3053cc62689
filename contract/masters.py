"""What application masters and web say to each other, as types."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from contract import jobrules
from contract.atmost import AtMost
from contract.base import Answer, Request
from contract.fields import (
    Command,
    EnvName,
    Estimate,
    Grace,
    GroupName,
    LabelExpression,
    PagePath,
    PartitionName,
    PortName,
    Text,
    Timeout,
    Whole,
)
from contract.jobspec import (
    FileSpec,
    GroupSpec,
    HealthCheckSpec,
    JobSpec,
    Locality,
    OutputSpec,
    PortSpec,
    Resources,
    Secrets,
)
from contract.problems import FieldError

ContainerName = Annotated[str, StringConstraints(pattern=r"^c-[0-9]{1,10}-[0-9]{1,10}-[0-9]{1,10}$")]
MAX_AT_ONCE = 1000  # asks, launches or releases of one call
MESSAGE_MAX = 1000
TAG_MAX = 255


class Runs(Request):
    """With what one container runs its command. ``secrets``: that the master has itself. ``timeout_s``: 0 is none."""

    shell: bool = False
    env: Annotated[dict[EnvName, Text], AtMost(512)] = {}
    secrets: Secrets = []
    files: Annotated[list[FileSpec], AtMost(1000)] = []
    outputs: Annotated[list[OutputSpec], AtMost(256)] = []
    timeout_s: Timeout = 0
    grace_s: Grace = 5.0


class AskSpec(Runs):
    """Containers of one kind. Only ``target`` may change from call to call; the rest may be left out then.

    ``target``: how many over the ask's whole life, so that repeating a call
    changes nothing; a lower one takes back what was not granted yet. ``gang``:
    all that is missing is granted at once, or none of it. With a ``command`` a
    granted container starts at once; without one it waits to be launched, and
    is taken back unless that comes soon.
    """

    id: GroupName
    target: Annotated[Whole, Field(ge=0, le=1_000_000)]
    resources: Resources = Resources()
    locality: Locality = Locality()
    node_labels: LabelExpression = ""
    partition: PartitionName | None = None
    gang: bool = False
    estimated_duration_s: Estimate = 0.0
    ports: Annotated[list[PortSpec], AtMost(16)] = []
    health_check: HealthCheckSpec | None = None
    command: Command | None = None

    @property
    def bare(self) -> bool:
        """Whether only the target is said: of an ask that is known, all else stays."""
        return self.model_fields_set <= {"id", "target"}

    def stored(self) -> dict[str, Any]:
        """As a group of a job's specification, but for its count."""
        spec = GroupSpec(name=self.id, command=["held"]).model_dump() | self.model_dump(exclude={"id", "target"})
        spec |= {"held": self.command is None, "command": self.command or []}
        del spec["count"]
        return spec


class LaunchSpec(Runs):
    """A container that was granted, and what it is to run. ``tag``: comes back with what is told of it."""

    container: ContainerName
    command: Command
    tag: Annotated[Text, Field(max_length=TAG_MAX)] = ""

    def stored(self) -> dict[str, Any]:
        return self.model_dump(exclude={"container"})


class AllocateRequest(Request):
    """``asks`` that are not named stay as they are. ``after``: as for ``events``."""

    asks: Annotated[list[AskSpec], AtMost(MAX_AT_ONCE)] = []
    release: Annotated[list[ContainerName], AtMost(MAX_AT_ONCE)] = []
    after: Annotated[Whole, Field(ge=0, le=2**62)] | None = None


class LaunchRequest(Request):
    launches: Annotated[list[LaunchSpec], AtMost(MAX_AT_ONCE, least=1)]


class FinishRequest(Request):
    """How the job ends. What else of it runs is stopped; the master may take half a minute to end itself."""

    status: Literal["SUCCEEDED", "FAILED"]
    message: Annotated[Text, Field(max_length=MESSAGE_MAX)] = ""


class Tracking(Request):
    """The page on which the application shows how it is doing: ``path`` at ``port``, one of the master's own."""

    port: PortName
    path: PagePath = "/"


class RegisterRequest(Request):
    """``tracking``: null is no page, also where this attempt named one before."""

    tracking: Tracking | None = None


def wrong(parts: list[AskSpec] | list[LaunchSpec], field: str) -> list[FieldError]:
    """What is wrong with containers beyond their single fields, by the rules for groups of a job."""
    found: list[FieldError] = []
    for i, part in enumerate(parts):
        said = {name: getattr(part, name) for name in ("command", *Runs.model_fields)}
        values: dict[str, Any] = {"name": "it", "command": ["held"]} | {
            name: value for name, value in said.items() if value
        }
        values |= {n: getattr(part, n) for n in ("ports", "health_check") if hasattr(part, n)}
        spec = JobSpec(name="it", groups=[GroupSpec(**values)])
        found += [
            FieldError(e.field.replace("groups.0", f"{field}.{i}", 1), e.message, e.remedy)
            for e in jobrules.check(spec, 1)
        ]
    return found


class MasterFile(Answer):
    path: str
    digest: str
    size: int
    mode: int


class MasterAsk(Answer):
    """``held``: granted first, launched later. ``granted``: containers so far, ended ones too."""

    id: str
    target: int
    version: int
    held: bool
    granted: int


class MasterContainer(Answer):
    """A live container of the job. ``launched``: false while it waits to be told what to run."""

    container: str
    ask: str
    index: int
    state: str
    launched: bool
    tag: str
    node: str
    allocated_at: dt.datetime
    started_at: dt.datetime | None


class MasterLimits(Answer):
    """``asks``: different ids. ``containers``: wanted or running at once. ``grant_s``: until a grant is taken back."""

    asks: int
    containers: int
    grant_s: float
    requests: str


class MasterEvent(Answer):
    """``kind``: granted, started, ended, warned (it will be stopped) or spared (it will not after all).

    ``granted``: so many containers of the ask were granted up to this one. Grants come in no order of ``index``.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": True})

    seq: int
    at: dt.datetime
    kind: str
    container: str
    ask: str
    index: int
    tag: str | None = None
    node: str | None = None
    rack: str | None = None
    launch: bool | None = None
    granted: int | None = None
    expires_in_s: float | None = None
    state: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    message: str | None = None
    stops_in_s: float | None = None


class MasterEvents(Answer):
    """``missed``: events after yours are gone, for there were very many; register again."""

    events: list[MasterEvent]
    cursor: int
    missed: bool


class Registered(Answer):
    """``containers``: live ones, of former attempts too. ``cursor``: events after it are news to this answer."""

    job: int
    name: str
    queue: str
    user: str
    attempt: int
    container: str
    files: list[MasterFile]
    asks: list[MasterAsk]
    containers: list[MasterContainer]
    cursor: int
    limits: MasterLimits


class Launched(Answer):
    containers: list[str]


class Finished(Answer):
    status: str
    message: str
