"""Live topics are read again when, and only when, rows they show were written; nothing old is ever shown."""

import json
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.rights import access, accounts
from controlplane.dashboard import snapshots
from controlplane.dashboard.kept import Kept
from controlplane.dashboard.snapshots import Result, TopicSnapshot
from controlplane.dashboard.topics import parse
from controlplane.statestore.models import Endpoint, Job, TaskGroup
from controlplane.statestore.queries.looks import Look
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def mine(world: World) -> Job:
    return Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])


@pytest.fixture
def others(world: World) -> Job:
    return Job.objects.get(pk=world["other"].post("jobs", job()).json()["id"])


def shown(user: User, name: str) -> Result:
    topic = parse(name)
    assert topic is not None
    return snapshots.read(user.pk, topic, Look())


def anew(user: User, name: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    with monkeypatch.context() as patch:
        patch.setattr(snapshots, "_kept", Kept())
        return shown(user, name)


def topics(of: Job) -> list[str]:
    return ["jobs", f"job:{of.pk}"]


def _endpoint(of: Job) -> None:
    live = rows.container(of, 1)
    Endpoint.objects.create(
        container_id=live.pk, job_id=of.pk, name="web", host="10.0.0.1", port=80, checked_at=timezone.now()
    )


WRITES: dict[str, Callable[[Job], object]] = {
    "the job": lambda of: Job.objects.filter(pk=of.pk).update(priority=3),
    "its end": lambda of: rows.finish(of.pk, JobState.FAILED),
    "a group": lambda of: TaskGroup.objects.filter(job_id=of.pk).update(running=2),
    "a start": lambda of: rows.container(of, 1),
    "a task's end": lambda of: rows.end(rows.container(of, 1, index=1)),
    "an endpoint": _endpoint,
}


@pytest.mark.parametrize("what", WRITES)
def test_every_write_is_shown(what: str, world: World, mine: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    user, before = world.users["tenant"], {name: shown(world.users["tenant"], name) for name in topics(mine)}
    WRITES[what](mine)
    after = {name: shown(user, name) for name in topics(mine)}
    assert after == {name: anew(user, name, monkeypatch) for name in topics(mine)}
    assert after[f"job:{mine.pk}"] != before[f"job:{mine.pk}"]
    assert (after["jobs"] != before["jobs"]) == (what in ("the job", "its end", "a group"))


@pytest.mark.parametrize("what", WRITES)
def test_what_is_written_of_others_costs_no_read(what: str, world: World, mine: Job, others: Job) -> None:
    user = world.users["tenant"]
    before = {name: shown(user, name) for name in topics(mine)}
    WRITES[what](others)
    with CaptureQueriesContext(connection) as asked:
        after = {name: shown(user, name) for name in topics(mine)}
    assert all(after[name] is before[name] for name in topics(mine))
    assert len(asked) <= 2 * 3, "the account, what is listed, and a stamp"


def test_rights_count_at_once(world: World, mine: Job, others: Job) -> None:
    tenant = world.users["tenant"]
    for role in ("tenant", "viewer", "tenant"):
        User.objects.filter(pk=tenant.pk).update(role=role)
        assert (others.pk in _ids(shown(tenant, "jobs"))) == (role == "viewer")
        assert isinstance(shown(tenant, f"job:{others.pk}"), TopicSnapshot) == (role == "viewer")


def _ids(result: Result) -> set[int]:
    assert isinstance(result, TopicSnapshot)
    return {each["id"] for each in json.loads(result.body)["results"]}


def test_a_list_says_whether_it_holds_the_accounts_own_jobs_alone(world: World, mine: Job) -> None:
    own = {who: shown(world.users[who], "jobs") for who in ("tenant", "submitter", "viewer", "operator")}
    assert {who: result.own for who, result in own.items() if isinstance(result, TopicSnapshot)} == {
        "tenant": True, "submitter": False, "viewer": False, "operator": False,
    }  # fmt: skip


def test_accounts_are_read_with_their_rights_in_one_query(world: World) -> None:
    numbers = [user.pk for user in world.users.values()]
    with CaptureQueriesContext(connection) as asked:
        found = accounts(numbers)
        levels = {pk: access(user) for pk, user in found.items()}
    assert len(asked) == 1
    for user in world.users.values():
        read = found[user.pk]
        assert (read.username, read.role, levels[user.pk]) == (user.username, user.role, access(user))
    User.objects.filter(pk=numbers[0]).update(is_active=False)
    assert accounts(numbers).keys() == set(numbers[1:])


def test_what_accounts_look_at_together_costs_what_one_of_them_costs(world: World, mine: Job, others: Job) -> None:
    follow = [(world.users[who], "overview") for who in ("tenant", "other")]
    follow += [(world.users["tenant"], f"job:{mine.pk}"), (world.users["other"], f"job:{others.pk}")]
    for user, name in follow:
        shown(user, name)

    def cost(of: list[tuple[User, str]]) -> int:
        look = Look({user.pk for user, _ in of}, {mine.pk, others.pk})
        with CaptureQueriesContext(connection) as asked:
            for user, name in of:
                topic = parse(name)
                assert topic is not None and not isinstance(
                    snapshots.read(user.pk, topic, look), snapshots.TopicRefusal
                )
        return len(asked)

    assert cost(follow) <= cost([each for each in follow if each[0].username == "tenant"])
