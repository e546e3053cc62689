"""Words that many answers share: states by name, kinds, roles. ``Role`` and ``Level`` are said in requests too."""

from enum import IntEnum
from typing import Annotated, Literal

from pydantic import WithJsonSchema

from contract.base import one_of
from wire import states


def _of(kind: type[IntEnum]) -> WithJsonSchema:
    return one_of(*kind.__members__)


JobState = Annotated[str, _of(states.JobState)]
GroupState = Annotated[str, _of(states.GroupState)]
TaskState = Annotated[str, _of(states.TaskState)]
ContainerState = Annotated[str, _of(states.ContainerState)]
NodeState = Annotated[str, _of(states.NodeState)]
SubClusterState = Annotated[str, one_of("joining", "running", "draining", "lost", "decommissioned")]
Duty = Annotated[str, one_of("in_service", "cordoned", "draining", "decommissioned")]
JobKind = Annotated[str, one_of("batch", "service", "application")]
Role = Literal["operator", "tenant", "viewer"]
Level = Literal["submit", "admin"]
