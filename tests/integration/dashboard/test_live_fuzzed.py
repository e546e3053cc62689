"""Whatever a browser says on the live socket: it is answered, and the socket and its topics live on."""

import json
from random import Random

import pytest

from controlplane.accounts.models import Role, User
from controlplane.dashboard import snapshots, topics
from controlplane.dashboard.snapshots import TopicRefusal
from controlplane.statestore.queries.looks import Look
from tests import mutations
from tests.integration.dashboard.tabs import Message, tab
from tests.seeds import drawn

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 15
READS = 120
SOUND = ["overview", "fleet", "policy", "queues", "queueuse?sub_cluster=west", "job:1", "node:1", "jobs",
         "queuematrix?under=root&partition=gpu&resource=gpus&skip=1",
         "jobs?state=RUNNING&queue=root.a&owner=ada&tag=t&name=n&kind=batch&node=n1&order=oldest",
         "jobs?since=2024-01-01T00:00:00Z&until=2030-01-01"]  # fmt: skip
WORDS = ["\0", "%00", "%", "%ff%fe", "\ud7ff", "\U0001f600", "'", "\\", "9" * 30, "-1", "0001-01-01",
         "9999-12-31T23:59:59-23:59", "&", "=", "?", "x" * 300, "²", "%ED%A0%80",
         "1e5", "{}", "%5C%30"]  # fmt: skip


def topic(rng: Random) -> str:
    """A topic's name with a part of it exchanged."""
    name = rng.choice(SOUND)
    kind, _, query = name.partition("?")
    if query and rng.random() < 0.7:
        pairs = [pair.split("=") for pair in query.split("&")]
        rng.choice(pairs)[1] = rng.choice(WORDS)
        return f"{kind}?" + "&".join("=".join(pair) for pair in pairs)
    if kind in topics.FILTERS and rng.random() < 0.5:
        return f"{kind}?{rng.choice(topics.FILTERS[kind])}={rng.choice(WORDS)}"
    return mutations.text(rng, name)


def message(rng: Random) -> dict[str, str | bytes]:
    """One message of a browser that is not well."""
    said = {
        rng.choice(("subscribe", "resync", "unsubscribe")): [topic(rng) for _ in range(rng.randint(1, 4))],
        "ping": -1,
    }
    text = json.dumps(mutations.value(rng, said) if rng.random() < 0.4 else said)
    how = rng.random()
    if how < 0.1:
        return {"bytes": mutations.data(rng, text.encode())}
    if how < 0.2:
        return {"text": mutations.text(rng, text)}
    if how < 0.22:
        return {"text": text + " " * 1_000_000}
    return {"text": text}


def answered(heard: list[Message], turn: int) -> bool:
    """Whether what was sound at the end has had its answers."""
    jobs = any(m.get("topic") == "jobs" and "snapshot" in m for m in heard)
    return jobs and any(m.get("pong") == turn for m in heard)


@pytest.mark.parametrize("role", [Role.TENANT, Role.OPERATOR])
async def test_a_socket_outlives_whatever_it_is_told(role: Role, alice: User, soak: bool) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(role=role)
    rng = drawn(role)
    for turn in range(40 * ROUNDS if soak else ROUNDS):
        async with tab(alice) as mine:
            said = [message(rng) for _ in range(8)]
            for each in said:
                await mine.put(**each)
            await mine.say(subscribe=["jobs"], ping=turn)
            heard: list[Message] = []
            while not answered(heard, turn):
                heard.append(await mine.hear())
            wrong = [m["error"] for m in heard if m.get("error", {}).get("status", 0) >= 500]
            assert not wrong, said


@pytest.mark.parametrize("role", [Role.TENANT, Role.OPERATOR])
def test_no_topic_that_is_taken_makes_its_read_fail(role: Role, alice: User, soak: bool) -> None:
    alice.role = role
    alice.save()
    rng = drawn(role)
    names = {topic(rng) for _ in range(40 * READS if soak else READS)}
    taken = [found for found in map(topics.parse, names) if found is not None]
    assert len(taken) > READS / 4
    read = {each.name: snapshots.read(alice.pk, each, Look()) for each in taken}
    assert {n: r.detail for n, r in read.items() if isinstance(r, TopicRefusal) and r.status >= 500} == {}
