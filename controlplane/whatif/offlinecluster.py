"""The nodes of an offline simulation, as options or a trace's own file tell them, and what could never run there."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simulator.workload import Machine, Submission, SubmittedGroup
from simulator.workloads import READERS, typed
from simulator.workloads.files import Unreadable
from wire import labels
from wire.resources import AXES, OF_AXIS

Json = dict[str, Any]
T = TypeVar("T")
RACK_NODES = 40
SPARE = 1.25  # machines that are not told: so much of what the workload holds on average
SIZES = {"memory_mib": 131_072, "vcores_milli": 32_000, "gpus": 0}  # of a node
_UNBOUNDED = 1 << 31  # tasks that ask for nothing
LEAVE_OUT = "--leave-out-unplaceable"


class Wrong(ValueError):
    """Something asked for cannot be done; the text names the option and the remedy."""


def add_arguments(parser: ArgumentParser) -> None:
    """Those that say which nodes there are."""
    kinds = ", ".join(name for name, reader in READERS.items() if reader.machines)
    parser.add_argument("--cluster", type=Path, metavar="FILE", help=f"the nodes, in the workload's own form ({kinds})")
    parser.add_argument("--machines", type=int, help="nodes in all, all alike; by default as many as the work needs")
    parser.add_argument("--memory-mib", type=int, help=f"of each node [{SIZES['memory_mib']}]")
    parser.add_argument("--vcores-milli", type=int, help=f"of each node; 1000 is a core [{SIZES['vcores_milli']}]")
    parser.add_argument("--gpus", type=int, help=f"of each node [{SIZES['gpus']}]")
    parser.add_argument("--sub-clusters", type=int, default=1, help="the nodes are divided among so many")
    help_text = "leave out jobs that no node could ever run, and say how many"
    parser.add_argument(LEAVE_OUT, action="store_true", help=help_text)


def sub_clusters(
    options: Json, reader_options: Json, jobs: list[Submission], window_s: float
) -> dict[str, list[Machine]]:
    """The nodes by sub-cluster; raises ``Wrong``. window_s: in which the jobs run, where nodes are to be enough."""
    subs = options["sub_clusters"]
    found = _told(options, reader_options) if options["cluster"] else None
    size = tuple(SIZES[axis] if options[axis] is None else options[axis] for axis in AXES)
    count = len(found) if found else options["machines"] or _enough(jobs, size, window_s)
    for name, value, most in (("--machines", count, 100_000), ("--sub-clusters", subs, 200)):
        if not 1 <= value <= most:
            raise Wrong(f"{name}: {value} does not fit; give 1 to {most:,}")
    names = [f"s{number:02}" for number in range(1, subs + 1)]
    return dealt(found, names) if found else _alike(count, size, names)


def from_file(option: str, path: Path, read: Callable[[], T]) -> T:
    """What ``read`` finds in the file; ``Wrong`` says of which option it is."""
    try:
        return read()
    except OSError as error:
        raise Wrong(f"{option}: {path} cannot be read ({error.strerror}); name a file") from None
    except (Unreadable, TypeError, ValueError) as error:
        raise Wrong(f"{option}: {error}") from None


def _told(options: Json, reader_options: Json) -> list[Machine]:
    kind, path = options["workload"], options["cluster"]
    reader = READERS[kind]
    if reader.machines is None:
        raise Wrong(f"--cluster: the workload {kind} has no file of nodes; use --machines and the sizes of a node")
    for name in ("machines", *AXES):
        if options[name] is not None:
            option = f"--{name.replace('_', '-')}"
            raise Wrong(f"{option}: is given beside --cluster, whose file tells the nodes; leave one of them out")
    given = {name: value for name, value in reader_options.items() if name in reader.machine_options}
    machines = reader.machines
    found = from_file("--cluster", path, lambda: machines(path, **typed(machines, given)))
    if not found:
        raise Wrong(f"--cluster: {path} has no node; give the file of the trace's nodes")
    return found


def dealt(machines: list[Machine], names: list[str]) -> dict[str, list[Machine]]:
    """Rack by rack where there are enough, else one by one."""
    racks = list(dict.fromkeys(machine.rack for machine in machines))
    whole = {rack: at for at, rack in enumerate(racks)} if len(racks) >= len(names) else {}
    found: dict[str, list[Machine]] = {name: [] for name in names}
    for at, machine in enumerate(machines):
        found[names[whole.get(machine.rack, at) % len(names)]].append(machine)
    return found


def _alike(count: int, size: tuple[int, ...], names: list[str]) -> dict[str, list[Machine]]:
    found: dict[str, list[Machine]] = {name: [] for name in names}
    amounts: Json = dict(zip(AXES, size, strict=True))
    for at in range(count):
        sub = names[at % len(names)]
        number = len(found[sub])
        rack = f"{sub}-r{number // RACK_NODES + 1:03}"
        found[sub].append(Machine(f"{sub}-n{number + 1:05}", **amounts, rack=rack))
    return found


def _enough(jobs: list[Submission], size: tuple[int, ...], window_s: float) -> int:
    """Nodes for what the workload holds on average, with room to spare, and for its largest gang."""
    held = np.zeros(len(AXES))
    most = 0.0
    for job in jobs:
        for group in job.groups:
            run_s = float(np.broadcast_to(group.run_s, group.count).sum())
            shape = np.array(_shape(group), np.float64)
            held += shape * run_s / window_s
            if group.gang:
                most = max(most, _nodes(shape * group.count, size))
    return max(1, int(np.ceil(max(SPARE * _nodes(held, size), most))))


def _nodes(amount: np.ndarray, size: tuple[int, ...]) -> float:
    return max((a / s for a, s in zip(amount.tolist(), size, strict=True) if s), default=1.0)


def _shape(of: Machine | SubmittedGroup) -> tuple[int, ...]:
    return tuple(getattr(of, axis) for axis in AXES)


# What could never run


class Lack(NamedTuple):
    """Why a group can never start: the option that is to blame, what is wrong, and the remedy."""

    option: str
    what: str
    remedy: str


@dataclass(slots=True)
class Unplaceable:
    """Jobs with a group that no node could ever run. why: of the first one."""

    why: Lack
    jobs: list[Submission] = field(default_factory=list)

    def refusal(self, total: int) -> Wrong:
        """What is told of them."""
        first, why = self.jobs[0], self.why
        told = f"{len(self.jobs):,} of {total:,} jobs could never start, first job {first.number} of {first.queue}"
        return Wrong(f"{why.option}: {told}: {why.what}; {why.remedy}, or leave such jobs out with {LEAVE_OUT}")


def unplaceable(jobs: Iterable[Submission], machines: list[Machine], told: bool) -> Unplaceable | None:
    """Which jobs no node of these could ever run, however empty; None: each could. told: a file tells the nodes."""
    found: Unplaceable | None = None
    rooms = _Rooms(machines, told)
    for job in jobs:
        why = next(filter(None, map(rooms.lack, job.groups)), None)
        if why is not None:
            found = found or Unplaceable(why)
            found.jobs.append(job)
    return found


class _Rooms:
    """What there is room for on empty nodes; looked up once for each kind of group."""

    def __init__(self, machines: list[Machine], told: bool) -> None:
        self.machines, self.told = machines, told
        self._sizes = np.array([_shape(machine) for machine in machines], np.int64)
        self._known: dict[tuple[Any, ...], int | Lack] = {}

    def lack(self, g: SubmittedGroup) -> Lack | None:
        """Why the group can never start, if so."""
        shape, named = _shape(g), (*g.nodes, *g.racks) if g.strict else ()
        key = shape, g.node_labels, named
        if key not in self._known:
            self._known[key] = self._room(shape, g.node_labels, set(named))
        room = self._known[key]
        if isinstance(room, Lack):
            return room
        if not g.gang or g.count <= room:
            return None
        what = f"all {g.count:,} tasks of group {g.name} are to start at once, and there is room for {room:,}"
        return Lack("--cluster" if self.told else "--machines", what, "give more nodes")

    def _room(self, shape: tuple[int, ...], expression: str, named: set[str]) -> int | Lack:
        """How many such tasks fit on all nodes; with none the reason."""
        may = self._may(expression, named)
        if not may.any():
            what = f"no node has the labels {expression!r}" if expression else "none of the nodes it names is there"
            return Lack("--cluster", what, "give a file of nodes that has such ones")
        sizes = self._sizes[may]
        asked = [axis for axis, amount in enumerate(shape) if amount]
        fits = (sizes[:, asked] // np.array(shape)[asked]).min(axis=1, initial=_UNBOUNDED)
        return int(fits.sum()) if fits.any() else self._too_large(shape, sizes.max(axis=0).tolist())

    def _may(self, expression: str, named: set[str]) -> np.ndarray:
        """(m,) which nodes its labels and names allow."""
        try:
            fits = labels.parse(expression)
        except labels.LabelError as error:
            raise Wrong(f"--workload: node_labels {expression[:80]!r}: {error}") from None
        allowed = [fits(m.labels) and (not named or m.name in named or m.rack in named) for m in self.machines]
        return np.array(allowed)

    def _too_large(self, shape: tuple[int, ...], most: list[int]) -> Lack:
        """most: that any node has, by axis."""
        short = [row for row in zip(AXES, shape, most, strict=True) if row[1] > row[2]]
        if not short:
            return Lack("--cluster", "no single node has all that a task asks for", "give a file with larger nodes")
        axis, asked, there = short[0]
        what = f"a task asks for {asked:,} {OF_AXIS[axis].unit}, and no node that it may use has over {there:,}"
        if self.told:
            return Lack("--cluster", what, "give a file with larger nodes")
        return Lack(f"--{axis.replace('_', '-')}", what, f"give {asked} or more, or the trace's nodes with --cluster")
