"""Every topic of the live socket x every role: who is sent what. The topics come from their registry.

``RULES`` names each topic's verdict per role; a topic without a rule fails the test. The owner's job runs in
root.prod.etl on a node, the stranger's on the same node in root.default; the colleague has rights in root.prod.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from controlplane.accounts.models import User
from controlplane.dashboard import consumers, snapshots, topics
from controlplane.statestore import bus
from controlplane.statestore.models import Job, SubCluster
from controlplane.statestore.queries.nodes import fleet
from controlplane.statestore.queries.queues import standing
from tests.integration.api import rows
from tests.integration.api.world import World, build_world, job
from tests.integration.dashboard.tabs import Message, tab
from tests.integration.leaders import say
from wire.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)
Snapshot = dict[str, Any]
ROLES = {"owner": "submitter", "colleague": "admin", "stranger": "other", "viewer": "viewer", "operator": "operator"}
UNSEEN = 404  # as if it did not exist


@dataclass(frozen=True)
class Rule:
    """By role: how many things ``seen`` counts in its snapshot, or the status of a refusal.

    name: the topic as it is asked for, where that is more than its kind.
    """

    seen: Callable[[Snapshot], int]
    owner: int
    colleague: int
    stranger: int
    viewer: int
    operator: int
    name: str = ""


def containers(told: Snapshot) -> int:
    columns = [base64.b64decode(part["columns"]["containers"]) for part in told["sub_clusters"]]
    return int(sum(np.frombuffer(column, "<u2").sum() for column in columns))


RULES = {
    "overview": Rule(lambda s: s["jobs"]["RUNNING"], 1, 1, 1, 2, 2),
    "fleet": Rule(containers, 1, 0, 1, 2, 2),
    "queues": Rule(lambda s: len({"prod", "etl", "closed"} & set(s["queues"]["name"])), 3, 3, 1, 3, 3),
    "queueuse": Rule(lambda s: max(s["queues"]["running"]), 1, 1, 1, 2, 2),
    "queuematrix": Rule(lambda s: len(s["rows"]), 1, 1, UNSEEN, 1, 1, "queuematrix?under=root.prod.etl"),
    "jobs": Rule(lambda s: len(s["results"]), 1, 1, 1, 2, 2),
    "policy": Rule(lambda s: 1, UNSEEN, UNSEEN, UNSEEN, 1, 1),
    "job": Rule(lambda s: len(s["tasks"]["results"]), 3, 3, UNSEEN, 3, 3, "job:{job}"),
    "node": Rule(lambda s: len(s["containers"]["results"]), 1, 1, 1, 2, 2, "node:{node}"),
}


@pytest.fixture
def world(db: None) -> World:
    return build_world()


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of earlier tests, and connections of threads that serve requests."""
    connections.settings["default"]["CONN_MAX_AGE"] = 0
    monkeypatch.setattr(fleet, "board", fleet.WholeBoard())
    fleet._own.clear()
    standing.forget()
    bus.breaker._closed_at = 0.0
    bus.client().flushdb()


def two_jobs(world: World) -> dict[str, int]:
    """The numbers that topics take."""
    node = world.nodes[0].session.node_id
    for who, queue in (("other", "root.default"), ("submitter", "root.prod.etl")):
        row = Job.objects.get(pk=world[who].post("jobs", job(queue=queue)).json()["id"])
        rows.container(row, node)
        Job.objects.filter(pk=row.pk).update(state=JobState.RUNNING)
    say(SubCluster.objects.get(name="west"), {"id": node, "containers": 2})
    return {"job": row.pk, "node": node}


async def told(user: User, names: list[str]) -> dict[str, Message]:
    """The first message of each topic."""
    heard: dict[str, Message] = {}
    async with tab(user) as mine:
        await mine.say(subscribe=names)
        while len(heard) < len(names):
            message = await mine.hear()
            heard.setdefault(message["topic"], message)
    return heard


def test_every_topic_has_a_rule_and_is_read_by_something() -> None:
    assert set(RULES) == topics.KINDS, "RULES above says of each topic who is sent what, and of no other"
    assert snapshots.READS.keys() | {"fleet"} == topics.KINDS
    assert set(topics.FILTERS) | set(topics.HINTS) <= topics.KINDS


async def test_the_matrix(world: World) -> None:
    numbers = await sync_to_async(two_jobs)(world)
    names = {kind: (rule.name or kind).format(**numbers) for kind, rule in RULES.items()}
    wrong = []
    for role, account in ROLES.items():
        heard = await told(world.users[account], list(names.values()))
        for kind, rule in RULES.items():
            message = heard[names[kind]]
            found = message["error"]["status"] if "error" in message else rule.seen(message["snapshot"])
            if found != getattr(rule, role):
                wrong.append((kind, role, found, getattr(rule, role)))
    assert not wrong


async def test_anonymous_is_sent_nothing_of_any_topic(db: None) -> None:
    async with tab(None) as nobody:
        await nobody.say(subscribe=[(rule.name or kind).format(job=1, node=1) for kind, rule in RULES.items()])
        assert await nobody.closed_with(silently=True) == consumers.NOT_SIGNED_IN
