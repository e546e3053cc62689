"""``manage.py simulate`` without any store: a workload from a file or a generator, under policies from files."""

import ast
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from contract import yamltext
from controlplane.policy import documents
from controlplane.statestore.errors import Invalid
from controlplane.whatif import answer, offlinecluster, offlinefaults, sides
from controlplane.whatif.cases import Case
from controlplane.whatif.jobqueues import JobQueues
from controlplane.whatif.offlinecluster import LEAVE_OUT, Wrong, from_file
from controlplane.whatif.redrawing import block_note, resampled
from simulator.report import document, table
from simulator.report.page import page
from simulator.workload import Disordered, Machine, Submission
from simulator.workloads import READERS, open_workload
from simulator.workloads.files import Unreadable
from wire.counts import counted

Json = dict[str, Any]
JOBS_MOST = 500_000


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--workload", choices=sorted(READERS), help="what the path is; synthetic needs none")
    parser.add_argument("path", nargs="?", type=Path, help="the log or trace")
    parser.add_argument("--option", action="append", default=[], metavar="K=V", help="of the workload's reader")
    offlinecluster.add_arguments(parser)
    offlinefaults.add_arguments(parser)
    kinds = ", ".join(name for name, reader in READERS.items() if reader.queues)
    told = f"the queues, in the workload's own form ({kinds}): the first of the policies"
    parser.add_argument("--queues", type=Path, metavar="FILE", help=told)
    policies = "YAML or JSON; again for another one, which is compared to the first; without any, queues share evenly"
    parser.add_argument("--policy", action="append", default=[], type=Path, metavar="FILE", help=policies)
    moved = "where jobs go of a queue that a policy lacks; again for another one"
    parser.add_argument("--queue", action="append", default=[], metavar="OLD=NEW", help=moved)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each policy")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report there, a page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there, as JSON")


def main(options: Json) -> None:
    """Raises ``Wrong`` or ``OSError``."""
    if not options["workload"]:
        raise Wrong(f"--workload: is missing; use one of: {', '.join(sorted(READERS))}")
    if not 1 <= options["seeds"] <= 100:
        raise Wrong(f"--seeds: {options['seeds']} does not fit; give 1 to 100")
    given = reader_options(options["option"])
    case = _case(options, given)
    offlinefaults.put(case, options)
    try:
        with _watched() as look:
            runs = sides.run(case, case.seeds(options["seeds"]), look, sides.cores())
    except sides.Broken as error:
        raise Wrong(f"--workload: {error}") from None
    found, alike = answer.distinct(answer.called(case, runs))
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


def reader_options(texts: list[str]) -> Json:
    """NAME=VALUE each, for a workload's reader; ``Wrong`` where one is not."""
    given: Json = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise Wrong(f"--option: {text!r} has no value; write NAME=VALUE")
        given[name] = _value(value)
    return given


def jobs_of(options: Json, given: Json) -> tuple[list[Submission], list[str]]:
    """All of a workload's jobs, by its name and path, and notes of it; ``Wrong`` says what cannot be read."""
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
    return found, source.notes


def _value(text: str) -> Any:
    """A number or a list where it is written like one, else a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.lower(), text)


def _case(options: Json, given: Json) -> Case:
    recorded, said = jobs_of(options, given)
    draw = _draws(options, given, recorded)
    jobs = draw(0)
    machines = offlinecluster.sub_clusters(options, given, jobs, max(_window_s(jobs), 1.0))
    placeable = _Placeable(options, machines)
    queues, window_s = set[str](), 0.0
    for seed in range(options["seeds"]):
        drawn = placeable.of(draw(seed))
        queues |= {job.queue for job in drawn}
        window_s = max(window_s, _window_s(drawn))
    policies = _policies(options, queues)

    def redraw(seed: int) -> list[Submission]:
        return placing.kept(placeable.of(draw(seed)))

    placing = _placing(options, policies, list(machines))
    if placing.unknown:
        raise Wrong(f"--queue: no policy has the leaf {placing.unknown[0]}; name one that is there")
    able = placeable.of(jobs)
    nobodys = set(placing.moved) - {job.queue for job in able}
    if nobodys:
        raise Wrong(f"--queue: no job is in {min(nobodys)}; name a queue of the workload's")
    used = placing.kept(able)
    if not used:
        raise Wrong("--policy: no job's queue is a leaf of every policy; name the queues as the workload does: "
                    + ", ".join(sorted(queues)[:5]))  # fmt: skip
    name = str(options["path"].name if options["path"] else options["workload"])
    found = Case(name, used, machines, policies, window_s, redraw=redraw)
    found.moves, found.called, found.mixed = placing.moves, placing.names(), placing.mixed()
    found.generated = options["workload"] == "synthetic"
    found.notes = [*said, *placeable.note(jobs), *placing.notes(able), *found.pace_note(), *_seeds_note(options, jobs)]
    return found


def _placing(options: Json, policies: dict[str, Json], sub_clusters: list[str]) -> JobQueues:
    """``Wrong`` names the first rule that a policy breaks."""
    for name, policy in policies.items():
        try:
            documents.validate(policy, sub_clusters)
        except Invalid as error:
            raise _not_valid("--policy", name, error) from None
    return JobQueues(policies, sub_clusters, _moved(options["queue"]))


def _not_valid(option: str, place: str | Path, error: Invalid) -> Wrong:
    first = error.errors[0]
    return Wrong(f"{option}: {place}: {first.field} {first.message}; {first.remedy}")


def _moved(pairs: Sequence[str]) -> dict[str, str]:
    """What ``--queue OLD=NEW`` says."""
    for pair in pairs:
        if not all(pair.partition("=")):
            raise Wrong(f"--queue: {pair!r} is not OLD=NEW; write root.old=root.new")
    found = dict(pair.split("=", 1) for pair in pairs)
    if len(found) < len(pairs):
        raise Wrong("--queue: names a queue twice; its jobs go to one")
    return found


def _window_s(jobs: list[Submission]) -> float:
    """Until the last has ended on its own; a draw may have no job at all."""
    last_s = max((float(group.run_s.max()) for job in jobs for group in job.groups), default=0.0)
    return last_s + (jobs[-1].at_s if jobs else 0.0)


def _draws(options: Json, given: Json, recorded: list[Submission]) -> Callable[[int], list[Submission]]:
    """The jobs of each seed: a generator has its own, from the one that is asked for on; a file is resampled."""
    if options["workload"] == "synthetic":
        first = given.get("seed", 0)
        return lambda seed: jobs_of(options, given | {"seed": first + seed})[0] if seed else recorded
    return lambda seed: resampled(recorded, recorded[-1].at_s, seed)


def _seeds_note(options: Json, jobs: list[Submission]) -> list[str]:
    if options["seeds"] == 1:
        return []
    if options["workload"] == "synthetic":
        return ["Each seed has jobs of its own, alike for all policies."]
    return [block_note(jobs[-1].at_s)] if jobs[-1].at_s > 0 else []


class _Placeable:
    """Keeps the jobs that some nodes could run; ``Wrong`` at others, unless these are to be left out."""

    def __init__(self, options: Json, machines: dict[str, list[Machine]]) -> None:
        self.leave_out, self.told = options["leave_out_unplaceable"], bool(options["cluster"])
        self.machines = [machine for found in machines.values() for machine in found]

    def of(self, jobs: list[Submission]) -> list[Submission]:
        never = offlinecluster.unplaceable(jobs, self.machines, self.told)
        if never is None:
            return jobs
        if not self.leave_out:
            raise never.refusal(len(jobs))
        gone = set(map(id, never.jobs))
        found = [job for job in jobs if id(job) not in gone]
        if not found:
            raise Wrong(f"{LEAVE_OUT}: no job is left, since no node could run any of them; {never.why.remedy}")
        return found

    def note(self, jobs: list[Submission]) -> list[str]:
        count = len(jobs) - len(self.of(jobs))
        return [f"{counted(count, 'job is', 'jobs are')} left out, since no node could ever run them."] if count else []


def _policies(options: Json, queues: set[str]) -> dict[str, Json]:
    """By name, the first of which the others are compared to."""
    files = [*filter(None, [options["queues"]]), *options["policy"]]
    found = {path.stem: _policy(path) for path in options["policy"]}
    if options["queues"]:
        found = {options["queues"].stem: _queues(options["workload"], options["queues"])} | found
    if len(found) < len(files):
        raise Wrong("--policy: two files have the same name; name them apart")
    return found or {"even": _even(queues)}


def _queues(kind: str, path: Path) -> Json:
    """A policy with the trace's own queues."""
    read = READERS[kind].queues
    if read is None:
        raise Wrong(f"--queues: the workload {kind} has no file of queues; use --policy")
    document: Json = {"queues": from_file("--queues", path, lambda: read(path))}
    try:
        documents.parse(document)
    except Invalid as error:
        raise _not_valid("--queues", path, error) from None
    return document


def _policy(path: Path) -> Json:
    try:
        found = yamltext.load(path.read_text())
        documents.parse(found)
    except (OSError, UnicodeDecodeError) as error:
        raise Wrong(f"--policy: {path} cannot be read ({getattr(error, 'strerror', error)}); name a file") from None
    except yaml.YAMLError as error:
        raise Wrong(f"--policy: {path} is neither YAML nor JSON ({error}); repair it") from None
    except Invalid as error:
        raise _not_valid("--policy", path, error) from None
    policy: Json = found
    return policy


def _even(queues: set[str]) -> Json:
    """All queues that are named, side by side with the same guarantee."""
    whole: Json = {}
    outside = min((path for path in queues if not path.startswith("root.")), default="")
    if outside:
        raise Wrong(f"--workload: {outside[:80]!r} is no queue below root; name it root.{outside[:80]}")
    for path in sorted(queues):
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


@contextmanager
def _watched() -> Iterator[sides.Look]:
    """How far it is, on stderr: one line that is written over on a terminal, elsewhere one for each tenth."""
    terminal, told = sys.stderr.isatty(), 0

    def look(progress: float, simulated_s: float) -> None:
        nonlocal told
        text = f"{100 * progress:3.0f} %  {simulated_s:,.0f} s simulated"
        if terminal:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
        elif (tenths := int(10 * progress)) > told:
            told = tenths
            print(text, file=sys.stderr, flush=True)

    try:
        yield look
    finally:
        if terminal:
            print(file=sys.stderr)
