"""From a question about a trace that was handed in to what the simulator needs: its jobs instead of recorded ones."""

import tempfile
from collections.abc import Sequence
from functools import partial

from controlplane.statestore.models import Simulation, SimulationTrace
from controlplane.whatif import cases, fleet, jobqueues, offlinecluster
from controlplane.whatif.cases import Case, Unanswerable
from controlplane.whatif.fleet import Fleet
from controlplane.whatif.jobqueues import JobQueues
from controlplane.whatif.redrawing import block_note, resampled
from simulator.workload import Machine, Submission
from simulator.workloads import history
from wire.counts import counted


def of(row: Simulation) -> Case:
    """Read all of it. ``Unanswerable``, or ``Invalid`` where a policy is not valid for the present sub-clusters."""
    if row.trace is None:
        raise Unanswerable("its trace was deleted to make place for others; hand it in again")
    jobs, said = _jobs(row.trace)
    found = fleet.read()
    machines = _dealt(row.trace, found) if row.own_nodes else found.sub_clusters
    if not any(some for name, some in machines.items() if name not in found.draining):
        raise Unanswerable(
            "no node takes containers now, so nothing can be simulated; add nodes, or use the trace's own"
        )
    policies = cases.policies_of(row)
    queues = JobQueues(policies, list(machines), row.queues)
    known = queues.kept(jobs)
    if not known:
        raise Unanswerable(_queues_missing(jobs))
    placed, never = _placeable(known, machines)
    if not placed:
        raise Unanswerable("no node could ever run any of its jobs; use the trace's own nodes, or larger ones")
    window_s = (row.ends_at - row.begins_at).total_seconds()
    case = Case(f"trace {row.trace_name}", placed, machines, policies, window_s)
    case.redraw = partial(resampled, placed, placed[-1].at_s)
    case.drained = dict.fromkeys(policies, dict.fromkeys(found.draining))
    case.moves, case.called, case.mixed = queues.moves, queues.names(), queues.mixed()
    case.notes = [
        _nodes_note(row),
        *said,
        *([] if row.own_nodes else found.notes),
        *queues.notes(jobs),
        *never,
        *case.pace_note(),
    ]
    if row.seeds > 1:
        case.notes.append(block_note(placed[-1].at_s))
    return case


def _jobs(trace: SimulationTrace) -> tuple[list[Submission], list[str]]:
    with tempfile.TemporaryFile() as file:  # it has no name that would be left when this process is killed
        file.write(trace.history)
        file.flush()
        source = history.read(f"/proc/self/fd/{file.fileno()}")
        return list(source), source.notes


def _dealt(trace: SimulationTrace, found: Fleet) -> dict[str, list[Machine]]:
    """The trace's nodes among the sub-clusters that take work, so that policies that name these mean something."""
    names = [name for name in found.sub_clusters if name not in found.draining]
    if not names:
        raise Unanswerable("no sub-cluster takes work now, so the trace's nodes belong to none; resume one first")
    machines = [Machine(**machine) for machine in trace.machines or ()]
    return {name: [] for name in found.sub_clusters} | offlinecluster.dealt(machines, names)


def _placeable(jobs: list[Submission], machines: dict[str, list[Machine]]) -> tuple[list[Submission], list[str]]:
    """Without what no node could ever run, and a note of it."""
    never = offlinecluster.unplaceable(jobs, [each for some in machines.values() for each in some], told=True)
    if never is None:
        return jobs, []
    gone = set(map(id, never.jobs))
    left_out = counted(len(gone), "job is left out", "jobs are left out")
    told = f"{left_out}, since no node could ever run them; of the first: {never.why.what}."
    return [job for job in jobs if id(job) not in gone], [told]


def _queues_missing(jobs: Sequence[Submission]) -> str:
    return (
        f"no job of the trace is in a queue that both policies have; {jobqueues.remedy(jobs)}. Or hand the trace in "
        "with the option queue (of sls: queues), which says which of yours they are"
    )


def _nodes_note(row: Simulation) -> str:
    assert row.trace is not None
    if row.own_nodes:
        return f"The {row.trace.nodes:,} nodes are the trace's own, dealt among the sub-clusters that take work now."
    return "The jobs are the trace's, on the nodes that there are now."
