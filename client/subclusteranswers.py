"""Answers about the lives of sub-clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from client.answers import Amounts


@dataclass(frozen=True, slots=True)
class SubClusterToken:
    """Leave to register one new sub-cluster. ``token`` is shown this once."""

    id: int
    token: str
    name: str = ""
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """A new sub-cluster: what its workers serve, and with what its nodes register."""

    id: int
    name: str
    state: str
    queue: str
    join_token: str
    join_token_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JoinToken:
    """With it nodes register in one sub-cluster. ``token`` is shown this once."""

    id: int
    token: str
    sub_cluster: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SubClusterDrainPreview:
    """What a drain would do; see the API's answer for the parts that are plain mappings here."""

    sub_cluster: str
    jobs: int
    containers: int
    services: int  # containers that leave at once
    ends: int  # of the others: those that end by themselves until the deadline
    stopped: int
    unknown: int
    fits: bool  # what leaves has room elsewhere now
    state: str = ""
    at: datetime | None = None
    deadline: datetime | None = None
    guests: int = 0
    queues: list[dict[str, Any]] = field(default_factory=list)
    moves: Amounts = field(default_factory=dict)
    others: list[dict[str, Any]] = field(default_factory=list)
    tied: list[dict[str, Any]] = field(default_factory=list)
    tied_groups: int = 0
