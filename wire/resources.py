"""The resources that nodes have and containers ask for, in the order of every vector of amounts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, and how people speak of it.

    axis: its name wherever amounts are given, the unit last. word: its name in a sentence; ``one`` of them, where they
    are counted. large: that many of its units are what people count it by. units: how amounts of it are written, and
    how many of its own units that is; the first of 1 is its own. metric: name and factor of its base unit in metrics.
    least, most: that a node may say it has.
    """

    axis: str
    word: str
    one: str
    unit: str
    large: int
    units: Mapping[str, int]
    example: str
    metric: tuple[str, float]
    least: int = 1
    most: int = 2**31 - 1

    @property
    def in_mib(self) -> bool:
        """Whether it is a size, told in MiB, GiB and TiB."""
        return self.unit == "MiB"

    @property
    def single(self) -> str:
        """One of its own units, as a policy document writes that: a plain 1 would be all there is."""
        return f"1 {next(name for name, size in self.units.items() if size == 1)}"


GPUS_MAX = 63  # devices of one node: a container's are a bit mask in a signed 64-bit number, here and in the StateStore
_SIZES = {"MiB": 1, "GiB": 1024, "TiB": 1024**2}
_CORES = {"cores": 1000, "core": 1000, "millicores": 1, "m": 1}
RESOURCES = (
    Resource("memory_mib", "memory", "memory", "MiB", 1024, _SIZES, "64 GiB", ("memory_bytes", 2**20)),
    Resource("vcores_milli", "cores", "core", "millicores", 1000, _CORES, "32 cores", ("cores", 1e-3)),
    Resource("gpus", "GPUs", "GPU", "GPUs", 1, {"gpu": 1, "gpus": 1}, "4 gpus", ("gpus", 1), least=0, most=GPUS_MAX),
)
AXES = tuple(resource.axis for resource in RESOURCES)
OF_AXIS = {resource.axis: resource for resource in RESOURCES}
MEMORY, CORES, GPUS = (AXES.index(axis) for axis in ("memory_mib", "vcores_milli", "gpus"))  # their positions
DIVISIBLE = tuple(axis for axis in AXES if axis != "gpus")  # a container has an amount of these, and certain devices

Amounts = tuple[int, ...]  # along ``AXES``


def amounts(values: Iterable[int]) -> Amounts:
    """As many values as there are resources; ``ValueError`` with more or fewer."""
    found = tuple(values)
    if len(found) != len(AXES):
        raise ValueError(f"{len(found)} amounts of {len(AXES)} resources")
    return found


NOTHING = amounts(0 for _ in AXES)


def gpu_ids(mask: int) -> list[int]:
    """The devices that a container's bit mask names, in ascending order."""
    return [i for i in range(GPUS_MAX) if mask >> i & 1]
