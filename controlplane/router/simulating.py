"""From a request to the question that is stored: the window or the trace, the document as it would hold, what it is
compared to; or the sub-cluster that is drained."""

import datetime as dt
from typing import Any

from django.conf import settings

from contract.problems import FieldError
from contract.simulations import SimulationRequest
from controlplane.policy import digest, documents, versions
from controlplane.policy.diff import brief
from controlplane.router import unknown
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.actions.policy import QueueRow
from controlplane.statestore.actions.simulations import CHANGE_MOST, Question
from controlplane.statestore.errors import Conflict, Invalid, NotFound
from controlplane.statestore.models import PolicyVersion, SimulationTrace, SubCluster
from controlplane.statestore.queries.policy import simulationtraces

Json = dict[str, Any]
WINDOWS = {"hour": dt.timedelta(hours=1), "day": dt.timedelta(days=1), "week": dt.timedelta(days=7)}
HORIZON_S, HORIZON_MOST_S = 3600, 7 * 86_400
LEAST, MOST = dt.timedelta(minutes=1), dt.timedelta(days=31)


def question(asked: SimulationRequest) -> Question:
    """``Invalid`` names what is wrong; five queries at most."""
    now = database_now()
    if asked.drain is not None:
        return _drain(asked, now)
    if asked.nodes is not None and asked.trace is None:
        raise _wrong(
            "nodes", "says whose nodes a trace is simulated on, and none is named", "leave it out, or give trace"
        )
    for name in ("horizon_s", "forecast", "deadline_s"):
        if getattr(asked, name) is not None:
            raise _wrong(name, "says something of a drain, and none is asked for", "leave it out, or give drain")
    trace, (begin, end) = _traced(asked, now) if asked.trace is not None else (None, _window(asked, now))
    own_nodes = None if trace is None else asked.nodes == "trace"
    if (asked.document is None) == (asked.version is None):
        raise _wrong("document", "and version are both given, or neither", "give one of document and version")
    base = _base()
    written = asked.document if asked.document is not None else versions.written(version(asked.version or 0))
    valid, rows = documents.validate(written)
    change = brief(versions.changes(versions.written(base), written), CHANGE_MOST)
    held, said = _held(valid, rows, now), digest.digest(valid)
    queues = _queues(asked.queues, _leaves(documents.validate(versions.readable(base.document))[1]), _leaves(rows))
    return Question(
        begin, end, base, held, said, change, asked.version, asked.seeds,
        trace=trace, own_nodes=own_nodes, queues=queues,
    )  # fmt: skip


def _leaves(rows: list[QueueRow]) -> list[str]:
    return [row.path for row in rows if row.leaf]


def _queues(asked: dict[str, str], in_force: list[str], proposed: list[str]) -> dict[str, str]:
    """Where jobs go: from what a policy does not have to what it has."""
    sides = {"the policy in force": in_force, "the policy that is simulated": proposed}
    for old, new in asked.items():
        field, lacking = f"queues.{old}", [name for name, leaves in sides.items() if old not in leaves]
        if not lacking:
            raise _wrong(field, "is a leaf of both policies, and its jobs stay there", "leave it out")
        for name in lacking:
            if new not in sides[name]:
                raise _wrong(field, unknown.leaf(new, sides[name]), f"name a leaf of {name}, which lacks {old}")
    return asked


def _traced(asked: SimulationRequest, now: dt.datetime) -> tuple[SimulationTrace, tuple[dt.datetime, dt.datetime]]:
    """It begins now, and lasts until its last job would have ended."""
    for name, field in {"window": "window", "first": "from", "last": "to"}.items():
        if getattr(asked, name) is not None:
            raise _wrong(field, "stands beside trace, which has its own length", "leave it out")
    number = asked.trace or 0
    found = simulationtraces.reference(number)
    if found is None:
        raise _wrong("trace", f"there is no trace {number}", "hydractl policy traces lists them")
    if asked.nodes == "trace" and found.nodes is None:
        raise _wrong("nodes", f"trace {number} tells no nodes", f"PUT /api/v1/simulations/traces/{number}/nodes")
    return found, (now, now + dt.timedelta(seconds=found.span_s))


def _drain(asked: SimulationRequest, now: dt.datetime) -> Question:
    """The same policy on both sides."""
    fields = {
        "trace": "trace",
        "nodes": "nodes",
        "queues": "queues",
        "document": "document",
        "version": "version",
        "window": "window",
        "first": "from",
        "last": "to",
    }
    for name, field in fields.items():
        if getattr(asked, name):
            raise _wrong(field, "stands beside drain, which begins now under the policy in force", "leave it out")
    row = _drainable(asked.drain or "")
    base = _base()
    held = _held(*documents.validate(versions.written(base)), now)
    end = now + dt.timedelta(seconds=_horizon_s(asked))
    forecast = asked.forecast is not False
    return Question(now, end, base, held, seeds=asked.seeds, sub_cluster=row, forecast=forecast,
                    deadline_s=asked.deadline_s)  # fmt: skip


def _horizon_s(asked: SimulationRequest) -> int:
    """An hour after the deadline, if nothing else is said."""
    if asked.horizon_s is None:
        return min(HORIZON_S + (asked.deadline_s or 0), HORIZON_MOST_S)
    if (asked.deadline_s or 0) >= asked.horizon_s:
        raise _wrong("deadline_s", "lies after what is looked at", f"look further ahead than {asked.deadline_s} s")
    return asked.horizon_s


def _drainable(name: str) -> SubCluster:
    found = SubCluster.objects.filter(name=name).first() if "\0" not in name else None
    if found is None:
        raise _wrong("drain", unknown.sub_cluster(name), "name one that runs")
    running = SubCluster.State.RUNNING
    if found.state != running:
        raise _wrong("drain", f"{name} is {found.state} already; only one that is running can be drained",
                     "name one that is running, or resume it first")  # fmt: skip
    if not SubCluster.objects.filter(state=running).exclude(pk=found.pk).exists():
        message = f"{name} is the only one that is running: all that waits or comes would wait until it is resumed"
        raise _wrong("drain", message, f"have another one run first; hydractl sub-cluster drain {name} --preview says "
                     "what runs there")  # fmt: skip
    return found


def _base() -> PolicyVersion:
    base = versions.active()
    if base is None:
        raise Conflict("no policy is in force to compare with; publish one first")
    return base


def _held(valid: Json, rows: list[QueueRow], now: dt.datetime) -> Json:
    """The document with the temporary overrides of the moment."""
    live = [versions.as_override(row) for row in versions.live_overrides(now)]
    return versions.effective(valid, rows, live).document


def version(number: int) -> PolicyVersion:
    found = PolicyVersion.objects.filter(pk=number).first() if 0 < number < 2**63 else None
    if found is None:
        raise NotFound(f"there is no policy version {number}; hydractl policy versions lists them")
    return found


def _window(asked: SimulationRequest, now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    if asked.first is None and asked.last is None:
        return now - WINDOWS[asked.window or "hour"], now
    if asked.window is not None:
        raise _wrong("window", "stands beside from or to", "give one of them")
    if asked.first is None or asked.last is None:
        raise _wrong("to" if asked.last is None else "from", "is missing", "give both from and to, or a window")
    return _checked(asked.first, asked.last, now)


def kept(first: dt.datetime | None, last: dt.datetime | None) -> tuple[dt.datetime, dt.datetime]:
    """A window of which there is history; up to now where no end is told. ``Invalid`` says what is wrong with it."""
    now = database_now()
    if first is None:
        raise _wrong("from", "is missing", "say when the window begins")
    return _checked(first, last or now, now)


def _checked(first: dt.datetime, last: dt.datetime, now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    since = now - dt.timedelta(days=settings.HYDRA["history_days"])
    if last > now:
        raise _wrong("to", "lies in the future", "give a time that has passed")
    if not LEAST <= last - first <= MOST:
        raise _wrong("from", "does not lie a minute to 31 days before to", "choose another window")
    if first < since:
        raise _wrong("from", f"lies before {since:%Y-%m-%dT%H:%M:%SZ}, from when on history is kept", "begin later")
    return first, last


def _wrong(field: str, message: str, remedy: str) -> Invalid:
    return Invalid("the request has errors", [FieldError(field, message, remedy)])
