"""Container ids: 63-bit integers that no two leaders can both hand out.

``sub_cluster (11 bits) | epoch (20 bits) | counter (32 bits)``. A new leader has
a higher epoch, so it need not know what its predecessor handed out. Browsers
cannot hold 63-bit integers, so people and JSON see ``c-<sub>-<epoch>-<counter>``.
"""

from typing import Any

SUB_CLUSTER_MAX = 2**11 - 1
EPOCH_MAX = 2**20 - 1


def container_id(sub_cluster: int, epoch: int, counter: int) -> int:
    """Pack; ``ValueError`` when a part does not fit its bits."""
    if not (0 < sub_cluster <= SUB_CLUSTER_MAX and 0 <= epoch <= EPOCH_MAX and 0 <= counter < 2**32):
        raise ValueError(f"container id out of range: {sub_cluster}, {epoch}, {counter}")
    return sub_cluster << 52 | epoch << 32 | counter


def sub_cluster(cid: Any) -> Any:
    """The sub-cluster whose leader handed the id out, of one id or an array of them."""
    return cid >> 52


def format_container(cid: int) -> str:
    """``c-<sub>-<epoch>-<counter>``, the form people and JSON see."""
    return f"c-{cid >> 52}-{cid >> 32 & EPOCH_MAX}-{cid & 0xFFFFFFFF}"


def parse_container(text: str) -> int:
    """Inverse of ``format_container``; ``ValueError`` for anything else."""
    head, *parts = text.split("-")
    if head != "c" or len(parts) != 3 or not all(p.isascii() and p.isdigit() and len(p) < 11 for p in parts):
        raise ValueError(f"not a container id: {text[:40]!r} (expected c-<sub-cluster>-<epoch>-<counter>)")
    return container_id(*(int(p) for p in parts))
