"""Shapes of the map of the fleet and of what runs on one node."""

import datetime as dt

from pydantic import Field

from controlplane.router.shapes import Amounts, PageOf, Shape


class NodeKind(Shape):
    """What nodes of a sub-cluster have in common."""

    labels: dict[str, str]
    capacity: Amounts


class FleetColumns(Shape):
    """One number a node, in order: base64 of little-endian unsigned integers. Shares are parts of ``whole``."""

    standing: str = Field(description="8 bits: index into `standings`")
    held: str = Field(description="8 bits: 1 where a reservation holds what is free for one ask")
    memory: str = Field(description="8 bits: allocated share")
    cores: str = Field(description="8 bits: allocated share")
    gpus: str = Field(description="8 bits: allocated share")
    used_memory: str = Field(description="8 bits: used share")
    used_cores: str = Field(description="8 bits: used share")
    containers: str = Field(description="16 bits")
    silent: str = Field(
        description="32 bits: 0 while the node reports, else the Unix second of its last report; 1: unknown"
    )


class FleetSubCluster(Shape):
    """A sub-cluster's nodes by rack and name. ``racks`` and ``kind`` are runs: a value, how many nodes, a value, ..."""

    name: str
    state: str
    ids: list[int] = Field(description="The first node's number, then each one's difference to the one before it")
    names: list[str]
    racks: list[str | int]
    kinds: list[NodeKind]
    kind: list[int] = Field(description="Indexes into `kinds`")
    columns: FleetColumns


class Fleet(Shape):
    at: float = Field(description="Unix seconds")
    whole: int
    standings: list[str]
    own: bool = Field(description="Only one's own containers are counted, for those who do not see everything")
    sub_clusters: list[FleetSubCluster]


class NodeContainer(Shape):
    id: str
    job: int
    job_name: str
    queue: str
    owner: str
    group: str
    index: int
    attempt: int
    state: str
    allocated_at: dt.datetime
    started_at: dt.datetime | None
    memory_mib: int
    vcores_milli: int
    gpus: list[int]
    used_memory_mib: int | None = Field(description="As last sampled")


class NodeContainerPage(PageOf):
    results: list[NodeContainer]
