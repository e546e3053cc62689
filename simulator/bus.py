"""The Bus port within one process: hints arrive at once, documents wait to be taken to the nodes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from controlplane.rm.codec.records import DOCUMENT, SIGNED_LEASE, WANTED
from simulator.played import Documents
from wire import desired


class NoKey(desired.Key):
    """On a network that exists only here nobody forges anything: a signature of zeros."""

    def __init__(self) -> None:
        super().__init__(b"")

    def mac(self, data: bytes) -> bytes:
        return _ZEROS


_ZEROS = bytes(desired.MAC_BYTES)
_KEY = NoKey()


class NoSigner:
    """In the place of ``publish.Signer``."""

    key_id = 1

    def key(self, node_id: int) -> desired.Key:
        return _KEY


class SimulatedBus:
    """One sub-cluster's. reported: the last status of each node. desired: documents that no node has read yet.

    ``hint``: called with sub-clusters that have rows to read.
    """

    def __init__(self, hint: Callable[[Iterable[int]], None]):
        self.hint = hint
        self.reported: dict[int, bytes] = {}
        self.desired: dict[int, bytes] = {}

    def wait(self, timeout_s: float) -> set[str]:
        return set()

    def wake(self, sub_clusters: Iterable[int]) -> None:
        self.hint(sub_clusters)

    def tell_masters(self, jobs: Iterable[int]) -> None:
        pass

    def statuses(self, node_ids: Sequence[int]) -> list[bytes | None]:
        return [self.reported.get(node) for node in node_ids]

    def publish(self, documents: Mapping[int, bytes], templates: Mapping[bytes, bytes]) -> bool:
        self.desired.update(documents)
        return True

    def announce_policy(self, version: int, wake: bool = True) -> None:
        pass

    def summary(self, summary: dict[str, Any], nodes: bytes, usage: Mapping[int, str]) -> None:
        pass


def read(bodies: list[bytes], rows: np.ndarray) -> Documents:
    """These documents as played nodes take them. rows: (k,) of their nodes."""
    head, entry, lease = DOCUMENT.itemsize, WANTED.itemsize, SIGNED_LEASE.itemsize
    heads = np.frombuffer(b"".join([body[:head] for body in bodies]), DOCUMENT)
    numbers = np.column_stack([heads[name].astype(np.int64) for name in ("epoch", "generation", "policy_version")])
    sizes, leased = heads["entries"].astype(np.int64), heads["leases"].astype(np.int64)
    splits = (head + sizes * entry).tolist()
    ends = (head + sizes * entry + leased * lease).tolist()
    wanted = b"".join([body[head:at] for body, at in zip(bodies, splits, strict=True)])
    leases = b"".join([body[a:b] for body, a, b in zip(bodies, splits, ends, strict=True) if b > a])
    return Documents(rows, numbers, np.frombuffer(wanted, WANTED), sizes, np.frombuffer(leases, SIGNED_LEASE), leased)
