"""Words and amounts that many answers share: states by name, resources, what is used, what waits."""

from typing import Literal

from controlplane.router.waiting import Shape

JobState = Literal["SUBMITTED", "ADMITTED", "RUNNING", "KILLING", "SUCCEEDED", "FAILED", "KILLED"]
GroupState = Literal["WAITING", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"]
TaskState = Literal["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"]
ContainerState = Literal["ALLOCATED", "LOCALIZING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED", "LOST"]
NodeState = Literal["REGISTERED", "UP", "UNHEALTHY", "LOST", "DECOMMISSIONED"]
SubClusterState = Literal["joining", "running", "draining", "lost", "decommissioned"]
Duty = Literal["in_service", "cordoned", "draining", "decommissioned"]
JobKind = Literal["batch", "service", "application"]
Role = Literal["operator", "tenant", "viewer"]
Level = Literal["submit", "admin"]


class Amounts(Shape):
    memory_mib: int
    vcores_milli: int
    gpus: int


class Measured(Shape):
    """What runs really takes, as nodes measured it."""

    memory_mib: int
    cpu_milli: int


class Containers(Amounts):
    """Containers, and what they take together."""

    containers: int
