"""What a round's driver sees of the world: Store, Bus and Clock."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from controlplane.rm.changes import Changes


class Fenced(Exception):
    """Another leader has a higher epoch; nothing was written. The caller stops leading."""


class StoreDown(Exception):
    """The StateStore cannot be reached, or a commit's outcome is unknown; drop the memory and lead anew."""


class BusDown(Exception):
    """Redis cannot be reached. Nothing in it is needed to be right, only to be quick."""


class Store(Protocol):
    """The sub-cluster's part of the StateStore, as its leader."""

    epoch: int

    def nodes(self) -> list[dict[str, Any]]: ...
    def queues(self) -> tuple[int, list[dict[str, Any]]]: ...
    def policy(self, version: int) -> dict[str, Any]: ...
    def live_jobs(self) -> list[dict[str, Any]]: ...
    def jobs(self, ids: Sequence[int]) -> list[dict[str, Any]]: ...
    def tasks(self, jobs: Mapping[int, Any]) -> Iterable[tuple[int, int, int, int, int, int]]: ...
    def containers(self) -> list[tuple[Any, ...]]: ...
    def intents(self, limit: int) -> list[dict[str, Any]]: ...
    def commit(self, changes: Changes) -> None: ...
    def renew(self) -> None: ...


class Bus(Protocol):
    """The sub-cluster's part of Redis: hints only."""

    def wait(self, timeout_s: float) -> set[str]: ...
    def statuses(self, node_ids: Sequence[int]) -> list[bytes | None]: ...
    def publish(self, documents: Mapping[int, bytes], templates: Mapping[bytes, bytes]) -> bool: ...
    def summary(self, summary: dict[str, Any], usage: Mapping[int, str]) -> None: ...


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since the Unix epoch on the database's clock."""
        ...

    def monotonic(self) -> float:
        """Seconds; never goes back, whatever happens to the wall clock."""
        ...
