"""The resources that nodes have and containers ask for, in the order of every vector of amounts."""

from collections.abc import Iterable

AXES = ("memory_mib", "vcores_milli", "gpus")  # MiB; thousandths of a core; whole devices
MEMORY, CORES, GPUS = range(len(AXES))  # their positions
GPUS_MAX = 63  # devices of one node: a container's are a bit mask in a signed 64-bit number, here and in the StateStore

Amounts = tuple[int, int, int]  # along ``AXES``


def amounts(values: Iterable[int]) -> Amounts:
    """As many values as there are resources; ``ValueError`` with more or fewer."""
    memory_mib, vcores_milli, gpus = values
    return memory_mib, vcores_milli, gpus


NOTHING = amounts(0 for _ in AXES)


def gpu_ids(mask: int) -> list[int]:
    """The devices that a container's bit mask names, in ascending order."""
    return [i for i in range(GPUS_MAX) if mask >> i & 1]
