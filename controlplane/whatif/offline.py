"""``manage.py simulate`` without any store: a workload from a file or a generator, under policies from files."""

import ast
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console

from contract import yamltext
from controlplane.policy import documents
from controlplane.statestore.errors import Invalid
from controlplane.whatif import answer, pace, sides
from controlplane.whatif.cases import Case, kept
from simulator.report import document, table
from simulator.report.page import page
from simulator.workload import Disordered, Machine, Submission
from simulator.workloads import READERS, open_workload
from simulator.workloads.files import Unreadable
from wire.resources import AXES

Json = dict[str, Any]
JOBS_MOST = 500_000
RACK_NODES = 40
SPARE = 1.25  # machines that are not told: so much of what the workload holds on average


class Wrong(ValueError):
    """Something asked for cannot be done; the text names the option and the remedy."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--workload", choices=sorted(READERS), help="what the path is; synthetic needs none")
    parser.add_argument("path", nargs="?", type=Path, help="the log or trace")
    parser.add_argument("--option", action="append", default=[], metavar="K=V", help="of the workload's reader")
    parser.add_argument("--machines", type=int, help="nodes in all; by default as many as the work needs")
    parser.add_argument("--memory-mib", type=int, default=131_072, help="of each node")
    parser.add_argument("--vcores-milli", type=int, default=32_000, help="of each node; 1000 is a core")
    parser.add_argument("--gpus", type=int, default=0, help="of each node")
    parser.add_argument("--sub-clusters", type=int, default=1, help="the nodes are divided among so many")
    policies = "YAML or JSON; again for another one, which is compared to the first; without any, queues share evenly"
    parser.add_argument("--policy", action="append", default=[], type=Path, metavar="FILE", help=policies)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each policy")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report there, a page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there, as JSON")


def main(options: Json) -> None:
    """Raises ``Wrong`` or ``OSError``."""
    if not options["workload"]:
        raise Wrong(f"--workload: is missing; use one of: {', '.join(sorted(READERS))}")
    if not 1 <= options["seeds"] <= 100:
        raise Wrong(f"--seeds: {options['seeds']} does not fit; give 1 to 100")
    jobs = _jobs(options)
    case = _case(options, jobs)
    try:
        runs = sides.run(case, case.seeds(options["seeds"]), _Bar().look, sides.cores())
    except sides.Broken as error:
        raise Wrong(f"--workload: {error}") from None
    finally:
        print(file=sys.stderr)
    found, alike = answer.distinct(runs)
    comparison = answer.compared(case, found)
    comparison.notes.extend(alike)
    table.show(found, Console(width=None if sys.stdout.isatty() else 120), comparison)
    for name, text in (("html", page), ("json", document.text)):
        if options[name]:
            _write(f"--{name}", options[name], text(found, comparison))


def _write(option: str, path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise Wrong(f"{option}: {path} cannot be written ({error.strerror}); name another place") from None


def _jobs(options: Json) -> list[Submission]:
    given: Json = {}
    for text in options["option"]:
        name, equals, value = text.partition("=")
        if not equals:
            raise Wrong(f"--option: {text!r} has no value; write NAME=VALUE")
        given[name] = _value(value)
    try:
        source = open_workload(options["workload"], options["path"], **given)
        found = []
        for job in source:
            found.append(job)
            if len(found) > JOBS_MOST:
                raise Wrong(f"--workload: has more than {JOBS_MOST:,} jobs; cut it, or use an option that takes a part")
    except OSError as error:
        raise Wrong(f"--workload: {options['path']} cannot be read ({error.strerror}); name a file") from None
    except (Unreadable, Disordered, TypeError) as error:
        raise Wrong(f"--workload: {error}") from None
    except ValueError as error:
        raise error if isinstance(error, Wrong) else Wrong(f"--option: {error}") from None
    if not found:
        raise Wrong("--workload: has no job; give another file or other options")
    return found


def _value(text: str) -> Any:
    """A number or a list where it is written like one, else a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.lower(), text)


def _case(options: Json, jobs: list[Submission]) -> Case:
    window_s = jobs[-1].at_s + max(float(group.run_s.max()) for job in jobs for group in job.groups)
    machines = _machines(options, jobs, max(window_s, 1.0))
    policies = {path.stem: _policy(path) for path in options["policy"]} or {"even": _even(jobs)}
    if len(policies) < len(options["policy"]):
        raise Wrong("--policy: two files have the same name; name them apart")
    used, notes = kept(jobs, policies.values(), list(machines))
    if not used:
        raise Wrong("--policy: no job's queue is a leaf of every policy; name the queues as the workload does: "
                    + ", ".join(sorted({job.queue for job in jobs})[:5]))  # fmt: skip
    name = str(options["path"].name if options["path"] else options["workload"])
    found = Case(name, used, machines, policies, window_s)
    found.notes = [*notes, *pace.note(found.pace)]
    return found


def _policy(path: Path) -> Json:
    try:
        found = yamltext.load(path.read_text())
        documents.parse(found)
    except (OSError, UnicodeDecodeError) as error:
        raise Wrong(f"--policy: {path} cannot be read ({getattr(error, 'strerror', error)}); name a file") from None
    except yaml.YAMLError as error:
        raise Wrong(f"--policy: {path} is neither YAML nor JSON ({error}); repair it") from None
    except Invalid as error:
        first = error.errors[0]
        raise Wrong(f"--policy: {path}: {first.field} {first.message}; {first.remedy}") from None
    policy: Json = found
    return policy


def _even(jobs: list[Submission]) -> Json:
    """All queues that are named, side by side with the same guarantee."""
    whole: Json = {}
    for path in sorted({job.queue for job in jobs}):
        level = whole
        for name in path.split(".")[1:]:
            level = level.setdefault("children", {}).setdefault(name, {})
    todo = [whole]
    for level in todo:
        children = level.get("children", {})
        for child in children.values():
            child["guaranteed"] = 1.0 / len(children)
        todo += children.values()
    return {"queues": whole.get("children", {})}


def _machines(options: Json, jobs: list[Submission], window_s: float) -> dict[str, list[Machine]]:
    size = (options["memory_mib"], options["vcores_milli"], options["gpus"])
    count = options["machines"] or _enough(jobs, size, window_s)
    subs = options["sub_clusters"]
    for name, value, most in (("--machines", count, 100_000), ("--sub-clusters", subs, 200)):
        if not 1 <= value <= most:
            raise Wrong(f"{name}: {value} does not fit; give 1 to {most:,}")
    found: dict[str, list[Machine]] = {f"s{number:02}": [] for number in range(1, subs + 1)}
    names = list(found)
    for at in range(count):
        sub = names[at % subs]
        number = len(found[sub])
        found[sub].append(Machine(f"{sub}-n{number + 1:05}", *size, rack=f"{sub}-r{number // RACK_NODES + 1:03}"))
    return found


def _enough(jobs: list[Submission], size: tuple[int, int, int], window_s: float) -> int:
    """Nodes for what the workload holds on average, with room to spare, and for its largest gang."""
    held = np.zeros(3)
    most = 0.0
    for job in jobs:
        for group in job.groups:
            run_s = float(np.broadcast_to(group.run_s, group.count).sum())
            shape = np.array([getattr(group, axis) for axis in AXES], np.float64)
            held += shape * run_s / window_s
            if group.gang:
                most = max(most, _nodes(shape * group.count, size))
    return max(1, int(np.ceil(max(SPARE * _nodes(held, size), most))))


def _nodes(amount: np.ndarray, size: tuple[int, int, int]) -> float:
    return max((a / s for a, s in zip(amount.tolist(), size, strict=True) if s), default=1.0)


class _Bar:
    """A line on stderr that says how far it is."""

    def look(self, progress: float, simulated_s: float) -> None:
        if sys.stderr.isatty():
            print(f"\r{100 * progress:3.0f} %  {simulated_s:,.0f} s simulated", end="", file=sys.stderr, flush=True)
