"""The map of the fleet, in columns."""

from pydantic import Field

from contract.base import Amounts, Answer


class NodeKind(Answer):
    """What nodes of a sub-cluster have in common."""

    labels: dict[str, str]
    capacity: Amounts


class FleetColumns(Answer):
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


class FleetSubCluster(Answer):
    """A sub-cluster's nodes by rack and name. ``racks`` and ``kind`` are runs: a value, how many nodes, a value, ..."""

    name: str
    state: str
    ids: list[int] = Field(description="The first node's number, then each one's difference to the one before it")
    names: list[str]
    racks: list[str | int]
    kinds: list[NodeKind]
    kind: list[int] = Field(description="Indexes into `kinds`")
    columns: FleetColumns


class Fleet(Answer):
    at: float = Field(description="Unix seconds")
    whole: int
    standings: list[str]
    own: bool = Field(description="Only one's own containers are counted, for those who do not see everything")
    sub_clusters: list[FleetSubCluster]
