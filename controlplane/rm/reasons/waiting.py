"""Why a task group waits, as people and programs read it."""

import datetime as dt
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from controlplane.rm.memory.jobs import GroupEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.tenancy import FREE, tenants_of
from controlplane.rm.memory.view import PlanView
from scheduler.explain.divided import WholeLimits
from scheduler.explain.sentence import AskContext
from scheduler.lifecycle.group import LATER, AttemptEnd, GroupRun
from scheduler.lifecycle.job import describe
from wire import labels
from wire.resources import AXES
from wire.states import ContainerReason, TaskState

OF_ROOM = ("no_room", "no_node_matches", "no_nodes")
RELAXED_TERMS = 6  # label terms tried one by one
SECRETS_NAMED = 3  # in one sentence


def back_off(job: int, group: GroupEntry, wait_s: float) -> dict[str, Any]:
    """The reason of a group of the job whose failed tasks pause before they start again, and how that one ended which
    pauses longest."""
    left, waiting = round(max(0.0, wait_s), 1), len(group.run.backing_off)
    ended = "failed" if _only_failed(group.run) else "ended early"
    text = f"{waiting:,} tasks {ended} and pause before they start again; the next one starts in {left:g} s."
    if waiting == 1:
        text = f"1 task {ended} and pauses before it starts again, in {left:g} s."
    end = max(group.run.backing_off).end
    text += f" {'The last one: ' * (waiting > 1)}{group.run.name}/{end.index} {_how(group, end)}."
    return {
        "code": "backoff",
        "text": text,
        "waiting": waiting,
        "asked": dict(zip(AXES, group.shape.tolist(), strict=True)),
        "limits": [{"limit": "backoff", "text": text, "asked": {}, "available": {}, "wait_s": left}],
        "position": {"jobs_ahead": 0, "containers_ahead": 0},
        "estimate": {"earliest_s": left, "latest_s": None, "text": f"In {left:g} s at the earliest."},
        "change": {"what": "wait", "starts": False, "text": _remedy(job, group, end)},
    }


def _how(group: GroupEntry, end: AttemptEnd) -> str:
    """How an attempt ended that makes its task pause, as part of a sentence."""
    if end.reason != ContainerReason.SECRET or not group.secrets:
        return describe(end)
    named = ", ".join(group.secrets[:SECRETS_NAMED]) + " and others" * (len(group.secrets) > SECRETS_NAMED)
    return f"could not have {'its secret' if len(group.secrets) == 1 else 'one of its secrets'} {named}"


def _remedy(job: int, group: GroupEntry, end: AttemptEnd) -> str:
    """What lets the task that pauses since that end start, and stay."""
    if end.reason in LATER:
        return "Nothing: it starts again by itself."
    task, more = f"{job}/{group.run.name}/{end.index}", ""
    if group.run.service:
        more = f"; hydractl restart {job} {group.run.name} {end.index} ends its pause"
    if end.reason != ContainerReason.SECRET:
        return f"Look at its logs: hydractl logs {task} --stderr. It starts again by itself{more}."
    put = f"hydractl secret put {group.secrets[0] if len(group.secrets) == 1 else 'NAME'}"
    which = "" if len(group.secrets) == 1 else f" (hydractl logs {task} --stderr says which)"
    return f"Put the secret again: {put}{which}. It starts by itself then{more}."


def _only_failed(run: GroupRun) -> bool:
    """Whether every attempt of the tasks that start again has failed. Of a service some may have ended well."""
    again = (run.task_state == TaskState.PENDING) & (run.launches > 0)
    return not run.service and bool((run.failures[again] == run.launches[again]).all())


def elsewhere(group: GroupEntry, text: str, waiting: int, now: float) -> dict[str, Any]:
    """The reason of a group of which nothing waits at home; what keeps the rest waiting stands in its asks."""
    return {
        "code": "elsewhere",
        "text": text,
        "waiting": waiting,
        "asked": dict(zip(AXES, group.shape.tolist(), strict=True)),
        "limits": [{"limit": "elsewhere", "text": text, "asked": {}, "available": {}}],
        "position": None,
        "estimate": None,
        "change": None,
        "at": moment(now),
    }


def alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two reasons say the same; a start expected at nearly the same moment is the same."""
    if any(old.get(name) != value for name, value in new.items() if name not in ("at", "estimate")):
        return False
    if (old.get("estimate") is None) != (new["estimate"] is None):
        return False
    timeless = new["estimate"] is not None and new["estimate"]["earliest_s"] is None
    if timeless and old["estimate"]["text"] != new["estimate"]["text"]:
        return False
    passed = (dt.datetime.fromisoformat(new["at"]) - dt.datetime.fromisoformat(old["at"])).total_seconds()
    return all(
        _near((old["estimate"] or {}).get(end), (new["estimate"] or {}).get(end), passed)
        for end in ("earliest_s", "latest_s")
    )


def _near(before: float | None, now: float | None, passed: float) -> bool:
    if before is None or now is None:
        return before is now
    return abs(max(0.0, before - passed) - now) <= 1.0 + 0.2 * now


def moment(now: float) -> str:
    """A time in s since 1970 as answers carry it."""
    return dt.datetime.fromtimestamp(now, dt.UTC).isoformat(timespec="seconds")


def about(m: Memory, view: PlanView, group: GroupEntry, now: float) -> AskContext:
    """What the snapshot does not say of a group's ask. now: s, when the plan was made."""
    clear = " and is free of maintenance until it would end" if group.constraints.duration_s else ""
    number = int(m.asks.mask[group.row])
    until_us = (now + group.constraints.duration_s) * 1e6 if group.constraints.duration_s else 0.0

    def relaxed() -> Sequence[tuple[str, np.ndarray]]:
        """What fewer wishes would open, each as advice and the nodes."""
        expression, nodes, racks, avoided = m.asks.masks[number]
        found = []
        if nodes or racks:
            anywhere = m.mask((expression, (), (), avoided))[view.nodes]
            found.append(("Let it run on other nodes than those it names (relax: true).", anywhere))
        terms = labels.conjuncts(expression) if expression else []
        for at, term in enumerate(terms[:RELAXED_TERMS]):
            rest = " && ".join(terms[:at] + terms[at + 1 :])
            word = "label term" if len(terms) > 1 else "label condition"
            found.append((f"Drop the {word} {term!r}.", m.mask((rest, nodes, racks, avoided))[view.nodes]))
        if len(terms) > 1:
            found.append(("Drop all of node_labels.", m.mask(("", nodes, racks, avoided))[view.nodes]))
        in_time = m.nodes.next_window_us[view.nodes] >= until_us
        return [(text, mask & in_time) for text, mask in found]

    whole = partial(_divided, m, group.partition) if m.queues.elsewhere and _others_have_nodes(m) else None
    return AskContext(group.node_labels, clear, relaxed, (group.shape.tobytes(), number), whole)


def _others_have_nodes(m: Memory) -> bool:
    return any((side > 0).any() for sides in m.queues.elsewhere.values() for side in sides)


def _divided(m: Memory, partition: int) -> WholeLimits:
    """What queues may hold of a partition here, and in all sub-clusters."""
    name = m.partitions[partition]
    nodes, own = m.nodes_of(partition)
    capacity = m.capacity(nodes[own])
    here = m.queues.view(name, capacity, m.ledger.queues[partition]).maximum
    return WholeLimits(here, m.queues.whole(name, capacity)[1], m.queues.user_maximum)


def with_tenants(m: Memory, view: PlanView, ask: int, reason: dict[str, Any]) -> dict[str, Any]:
    """The reason of the ``ask`` of a view; where nodes with room serve another tenant alone, it says so."""
    if view.holder is None:
        return reason
    s, row = view.snapshot, view.asks[ask]
    others = (view.holder != FREE) & (view.holder != tenants_of(m, view.asks[[ask]])[0])
    mine = m.mask(m.asks.masks[int(m.asks.mask[row])])[view.nodes] & s.nodes.open
    room = (s.nodes.free >= s.asks.shapes[s.asks.shape[ask]]).all(axis=1)
    if not (number := int((others & mine & room).sum())):
        return reason
    text = "1 node with room is another tenant's, and serves one tenant at a time."
    if number > 1:
        text = f"{number:,} nodes with room are other tenants', and serve one tenant at a time."
    limit = {"limit": "one_tenant", "text": text, "asked": {}, "available": {}}
    rest = [one for one in reason["limits"] if one["limit"] not in OF_ROOM]
    if reason["code"] not in OF_ROOM:
        return reason | {"limits": [*reason["limits"], limit]}
    change = {"what": "wait", "starts": False, "text": "Nothing of the job's own: wait until one of them is free."}
    return reason | {"code": "one_tenant", "text": text, "limits": [limit, *rest], "change": change}


def with_others(m: Memory, job: int, group: GroupEntry, reason: dict[str, Any]) -> dict[str, Any]:
    """The reason of a group that no node here could hold; it says who could, where that is known."""
    names = m.unheld.get((job, group.run.no))
    if names is None or reason["code"] != "no_node_matches":
        return reason
    if not names:
        never = {"text": "It does not start by waiting: no node of any sub-cluster can hold it."}
        return reason | {"estimate": reason["estimate"] | never}
    who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    text = f"{reason['text']} {who} could hold it."
    limits = [reason["limits"][0] | {"text": text}, *reason["limits"][1:]]
    starts = {"text": f"It starts once {' or '.join(names)} has room for it, where its queue may use that."}
    change = {"what": "wait", "starts": False, "text": "Nothing of the job's own: another sub-cluster could hold it."}
    return reason | {"text": text, "limits": limits, "estimate": reason["estimate"] | starts, "change": change}


def with_preemption(m: Memory, queue: str, reason: dict[str, Any], now: float) -> dict[str, Any]:
    """The reason of a group in ``queue``; where room is being made for that queue, it says so. now: s."""
    due = m.room_due.get(queue, 0.0)
    if due < now or reason["code"] not in ("no_room", "queue_share", "gang", "reserved"):
        return reason
    left = round(due - now, 1)
    text = f"Containers of other jobs make room for its queue, in {left:g} s."
    return reason | {
        "estimate": {"earliest_s": left, "latest_s": None, "text": text},
        "change": {"what": "wait", "starts": False, "text": "Nothing: room is being made."},
    }
