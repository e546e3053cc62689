"""The resources' columns in hand-written SQL: lists with one part for each, in the order of every vector of amounts."""

from wire.resources import AXES, DIVISIBLE

HELD = ", ".join((*DIVISIBLE, "gpus"))  # of containers, in the order in which rounds write them
# Of the ledgers of use: amounts times the seconds they were held.
SECONDS = tuple("gpu_s" if axis == "gpus" else f"{axis}_s" for axis in AXES)

# All that those ledgers add up: counts, and from ``USED_COUNTS`` on what is seconds, or amounts times them.
USED_SUMS = ("containers", "failed", "cpu_ms", "tasks", "waited_s", "peak_memory_mib_s", *SECONDS)
USED_COUNTS = 4


def per_axis(template: str) -> str:
    """``{0}`` is the resource's column: ``per_axis("g.{0}")`` is ``g.memory_mib, g.vcores_milli, g.gpus``."""
    return ", ".join(template.format(axis) for axis in AXES)


def per_axis_held(template: str, of: str = "") -> str:
    """The same over a row of containers, which have certain devices: ``{1}`` is the amount of the resource ``{0}``.

    of: the row's name in the statement, with the point.
    """
    held = {axis: f"{of}{axis}" for axis in AXES} | {"gpus": f"bit_count({of}gpus::bit(64))"}
    return ", ".join(template.format(axis, held[axis]) for axis in AXES)
