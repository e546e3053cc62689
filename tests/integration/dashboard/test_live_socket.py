"""The live socket against the real store and the real channel layer."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.utils import timezone

from controlplane.accounts.models import Role, User
from controlplane.dashboard import consumers, sessions
from controlplane.events import GROUP
from controlplane.statestore.models import Job, SubCluster
from tests.integration.dashboard.tabs import Message, tab
from wire.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)


def make_job(owner: User, home: SubCluster, name: str = "job") -> Job:
    now = timezone.now()
    return Job.objects.create(name=name, queue="root.a", owner=owner, spec={"groups": []}, home=home, submitted_at=now)


amake_job = sync_to_async(make_job)


async def finish(job: Job) -> None:
    await Job.objects.filter(pk=job.pk).aupdate(state=JobState.SUCCEEDED, finished_at=timezone.now())


def names(message: Message) -> list[str]:
    return [job["name"] for job in message["snapshot"]["results"]]


async def test_a_snapshot_at_once_and_changes_without_any_hint(alice: User, home: SubCluster) -> None:
    job = await amake_job(alice, home)
    async with tab(alice) as mine:
        await mine.say(subscribe=[f"job:{job.pk}"])
        first = await mine.hear()
        assert (first["topic"], first["seq"]) == (f"job:{job.pk}", 1)
        assert first["snapshot"]["job"]["state"] == "SUBMITTED"
        assert first["snapshot"]["tasks"] == {"results": [], "next": None, "previous": None}
        await finish(job)
        second = await mine.hear()
        assert (second["seq"], second["snapshot"]["job"]["state"]) == (2, "SUCCEEDED")


async def test_a_hint_shortens_the_wait_and_storms_are_coalesced(alice: User, home: SubCluster) -> None:
    layer = get_channel_layer()
    async with tab(alice) as mine:
        await mine.say(subscribe=["jobs"])
        assert names(await mine.hear()) == []
        heard: list[Message] = []
        loop = asyncio.get_running_loop()
        began = loop.time()
        for i in range(10):
            await amake_job(alice, home, f"job-{i}")
            await layer.group_send(GROUP, {"type": "hint", "topics": ["jobs"]})
        while not heard or len(names(heard[-1])) < 10:
            heard.append(await mine.hear())
        took = loop.time() - began
    assert [m["seq"] for m in heard] == list(range(2, 2 + len(heard)))
    assert len(heard) <= 2 + took / 0.25


async def test_resync_sends_again_with_the_next_number(alice: User, home: SubCluster) -> None:
    async with tab(alice) as mine:
        await mine.say(subscribe=["jobs"])
        first = await mine.hear()
        await mine.say(resync=["jobs"])
        second = await mine.hear()
    assert (first["seq"], second["seq"]) == (1, 2)
    assert second["snapshot"] == first["snapshot"]


async def test_a_pong_tells_the_last_numbers(alice: User, home: SubCluster) -> None:
    async with tab(alice) as mine:
        await mine.say(subscribe=["jobs"])
        await mine.hear()
        await mine.say(resync=["jobs"])
        await mine.hear()
        await mine.say(ping=1)
        assert await mine.hear_until(lambda m: "pong" in m) == {"pong": 1, "seqs": {"jobs": 2}}


async def test_nobody_sees_a_job_that_is_not_theirs(alice: User, bob: User, home: SubCluster) -> None:
    job = await amake_job(alice, home, "secret")
    async with tab(bob) as other:
        await other.say(subscribe=[f"job:{job.pk}", "jobs", "job:999999"])
        heard = {m["topic"]: m for m in [await other.hear() for _ in range(3)]}
    assert heard[f"job:{job.pk}"]["error"]["status"] == 404
    assert heard["job:999999"]["error"] == heard[f"job:{job.pk}"]["error"]  # nor whether it exists
    assert names(heard["jobs"]) == []


async def test_filters_are_those_of_the_list(alice: User, home: SubCluster) -> None:
    await amake_job(alice, home, "one")
    await amake_job(alice, home, "two")
    async with tab(alice) as mine:
        await mine.say(subscribe=["jobs?name=tw&state=SUBMITTED"])
        assert names(await mine.hear()) == ["two"]


async def test_a_stranger_is_sent_away(db: None) -> None:
    async with tab(None) as nobody:
        assert await nobody.closed_with() == consumers.NOT_SIGNED_IN


async def test_another_sites_page_may_not_connect(alice: User) -> None:
    with pytest.raises(AssertionError):
        async with tab(alice, origin="https://evil.example"):
            pass


async def test_a_closed_account_loses_its_socket(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "CHECK_S", 0.2)
    async with tab(alice) as mine:
        await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
        assert await mine.closed_with() == consumers.NOT_SIGNED_IN


async def test_a_changed_role_counts_at_the_next_read(alice: User, bob: User, home: SubCluster) -> None:
    await amake_job(alice, home, "hers")
    async with tab(bob) as other:
        await other.say(subscribe=["jobs"])
        assert names(await other.hear()) == []
        await User.objects.filter(pk=bob.pk).aupdate(role=Role.VIEWER)
        assert names(await other.hear()) == ["hers"]


async def test_the_socket_outlives_its_channel_layer(
    alice: User, home: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hints that cannot be received at all only slow the refresh down."""
    config = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    monkeypatch.setattr(settings, "CHANNEL_LAYERS", config)
    from channels.layers import channel_layers

    channel_layers.backends = {}
    try:
        job = await amake_job(alice, home)
        async with tab(alice) as mine:
            await mine.say(subscribe=["jobs"])
            assert names(await mine.hear()) == ["job"]
            await finish(job)
            message = await mine.hear()
            assert message["snapshot"]["results"][0]["state"] == "SUCCEEDED"
    finally:
        channel_layers.backends = {}


async def test_nonsense_is_answered_and_changes_nothing(alice: User) -> None:
    async with tab(alice) as mine:
        for text in ("[]", "not json", '{"subscribe": "jobs"}'):
            await mine.send(text)
        assert (await mine.hear())["error"]["status"] == 400
        assert (await mine.hear())["error"]["status"] == 400
        await mine.say(subscribe=["job:0", "jobs?evil=1", "nowhere", 7])
        assert [(await mine.hear())["error"]["status"] for _ in range(3)] == [404, 404, 404]
        await mine.say(subscribe=[f"job:{n}" for n in range(1, 40)], ping=5)
        assert (await mine.hear_until(lambda m: "pong" in m))["pong"] == 5
        assert (await mine.hear_until(lambda m: m["error"]["status"] == 429))["topic"] == "job:33"


@pytest.mark.parametrize("depth", [300, 900, 8000])
async def test_a_message_nested_beyond_reason_does_not_end_the_socket(alice: User, depth: int) -> None:
    async with tab(alice) as mine:
        await mine.send('{"ping":' + "[" * depth + "]" * depth + "}")
        assert (await mine.hear())["error"]["status"] == 400
        await mine.say(ping=5)
        assert (await mine.hear())["pong"] == 5


async def test_overview_and_queues_are_topics(alice: User, home: SubCluster) -> None:
    async with tab(alice) as mine:
        await mine.say(subscribe=["overview", "queues"])
        heard = {m["topic"]: m["snapshot"] for m in [await mine.hear() for _ in range(2)]}
    assert [s["name"] for s in heard["overview"]["sub_clusters"]] == ["west"]
    assert heard["queues"]["queues"]["name"] == []


async def test_an_account_has_so_many_sockets_and_no_more(
    alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.places, "most", 2)
    async with tab(alice) as first, tab(alice):
        async with tab(alice) as third:
            assert await third.closed_with() == consumers.TOO_MANY
        async with tab(bob) as other:
            await other.say(ping=1)
            assert (await other.hear())["pong"] == 1
        await first.say(ping=2)
        assert (await first.hear())["pong"] == 2
    async with tab(alice) as later:
        await later.say(ping=3)
        assert (await later.hear())["pong"] == 3
