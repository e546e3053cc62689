"""What becomes of jobs is told to a real web server and a real mail server: once if all is well, never not at all."""

import base64
import datetime as dt
import hashlib
import hmac
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from controlplane import clock, duties
from controlplane.accounts.models import User
from controlplane.notifications import delivery
from controlplane.statestore import due, retention
from controlplane.statestore.actions import jobs, receivers
from controlplane.statestore.actions import notifications as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.models import Notification, Receiver
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import SMALL
from tests.playing import finish, ready, running
from tests.receiving import Hooks, Mails, hooks, mail_server
from wire.states import ContainerState

ENDS = ["succeeded", "failed", "killed"]
NAMED = [{"receiver": "ci", "events": ["started", "succeeded", "failed", "killed"]}]


@pytest.fixture
def web(settings: Any) -> Iterator[Hooks]:
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": ["127.0.0.1"]}
    with hooks() as found:
        yield found


def put(cluster: Cluster, url: str | None, name: str = "ci", owner: User | None = None, **fields: Any) -> str | None:
    wanted = {"mail": url is None, "every_job": []} | fields
    return receivers.put(cluster.actor, owner or cluster.user, name, url, **wanted)[1]


def rows(**fields: Any) -> list[tuple[str, str, int]]:
    found = Notification.objects.filter(**fields).order_by("pk")
    return list(found.values_list("event", "state", "attempts"))


def due_now() -> None:
    Receiver.objects.update(free_at=timezone.now())


def test_a_webhook_is_told_of_a_job_that_names_it_signed_and_once(cluster: Cluster, web: Hooks) -> None:
    key = put(cluster, web.url("/hook?token=t0p"))
    leader = ready(cluster)
    job = running(cluster, leader, SMALL, notify=NAMED)
    running(cluster, leader, SMALL)  # which names nobody
    finish(cluster, leader, job)
    leader.round()
    assert rows() == [("started", "waiting", 0), ("succeeded", "waiting", 0)]
    assert delivery.run() == 2 and delivery.run() == 0
    assert rows() == [("started", "sent", 1), ("succeeded", "sent", 1)]
    (at, head, body), told = web.told[1], json.loads(web.told[1][2])
    assert at == "/hook?token=t0p" and head["host"] == f"127.0.0.1:{web.port}"
    assert (told["type"], told["data"]["job"], told["data"]["state"]) == ("job.succeeded", job, "SUCCEEDED")
    assert told["data"]["owner"] == "tenant" and told["data"]["link"].endswith(f"/jobs/{job}")
    assert told["text"].startswith(f"Job {job} job has succeeded") and told["data"]["finished_at"].endswith("Z")
    assert key is not None
    said = f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + body
    made = hmac.new(base64.b64decode(key.removeprefix("whsec_")), said, hashlib.sha256).digest()
    assert head["webhook-signature"] == f"v1,{base64.b64encode(made).decode()}"


def test_what_ends_in_a_round_that_takes_new_jobs_is_told(
    cluster: Cluster, web: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their intents are read later than the statuses, and time has passed since."""
    put(cluster, web.url())
    leader = ready(cluster)
    ticks = itertools.count(leader.clock.now_us(), 1000)
    monkeypatch.setattr(leader.clock, "now_us", lambda: next(ticks))
    job = running(cluster, leader, SMALL, notify=NAMED)
    cluster.nodes.finish()
    cluster.nodes.step()
    cluster.submit(SMALL)
    leader.round()
    assert rows(job_id=job) == [("started", "waiting", 0), ("succeeded", "waiting", 0)]


def test_a_failure_says_why_and_other_accounts_hear_nothing(cluster: Cluster, web: Hooks) -> None:
    stranger = User.objects.create(username="stranger")
    put(cluster, web.url("/all"), "all", every_job=["failed", "killed"])
    put(cluster, web.url("/theirs"), "all", stranger, every_job=ENDS)
    leader = ready(cluster)
    bad, killed, good = (running(cluster, leader, SMALL) for _ in range(3))
    ids = {container.id for container in cluster.live(bad)}
    cluster.nodes.finish(ContainerState.FAILED, ids)
    cluster.nodes.step()
    leader.round()
    jobs.kill(cluster.actor, cluster.job(killed), "wrong\ninput")
    for _ in range(4):
        leader.clock.ahead_s += 10
        leader.round()
        cluster.nodes.step()
    finish(cluster, leader, good)
    delivery.run()
    texts = [json.loads(body)["text"] for body in web.of("/all")]
    assert [text.partition(" http")[0] for text in texts] == [
        f"Job {bad} job has failed: {cluster.job(bad).message}",
        f"Job {killed} job was killed: wrong input",
    ]
    assert cluster.job(bad).message and not web.of("/theirs")


def test_what_is_away_or_slow_holds_up_itself_alone_and_is_told_later_with_the_same_id(
    cluster: Cluster, web: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.notifications.webhook.TRY_S", 0.5)
    web.silent, web.answer = {"/slow"}, {"/down": 500, "/moved": 302}
    for name in ("slow", "down", "moved", "well"):
        put(cluster, web.url(f"/{name}"), name)
        receivers.test(cluster.actor, cluster.user, name)
    delivery.run()
    told = {r.name: r for r in Receiver.objects.all()}
    assert {name: row.error for name, row in told.items()} == {
        "slow": "no answer within 0.5 s", "down": "answered 500", "well": "",
        "moved": "answered 302, and redirects are not followed: give the address it leads to",
    }  # fmt: skip
    assert [at for at, _, _ in web.told].count("/elsewhere") == 0
    wait = told["down"].free_at - timezone.now()
    assert dt.timedelta(seconds=5) < wait <= dt.timedelta(seconds=10) and rows(receiver=told["down"])[0][2] == 1
    assert delivery.run() == 0, "it is left alone meanwhile"
    web.answer.clear()
    due_now()
    delivery.run()
    ids = [head["webhook-id"] for at, head, _ in web.told if at == "/down"]
    assert len(ids) == 2 and len(set(ids)) == 1
    assert rows(receiver=told["down"]) == [("test", "sent", 2)]
    assert Receiver.objects.get(name="down").failures == 0


def test_of_one_account_so_few_are_told_at_once_that_others_are_too(
    cluster: Cluster, web: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "OF_ONE", 3)
    stranger = User.objects.create(username="stranger")
    for n in range(5):
        put(cluster, web.url(), f"many-{n}")
        receivers.test(cluster.actor, cluster.user, f"many-{n}")
    put(cluster, web.url(), "one", stranger)
    receivers.test(Actor(stranger.pk), stranger, "one")
    claims = actions.claim(100, {cluster.user.pk: 1})
    assert Counter(each.receiver.owner_id for each in claims) == {cluster.user.pk: 2, stranger.pk: 1}
    put(cluster, web.url(), "many-0")  # anew, while it is waited for
    assert actions.claim(100, {cluster.user.pk: 3}) == []
    assert len(actions.claim(100, {})) == 3


def test_it_is_given_up_in_the_end_and_forgotten_after_a_time(cluster: Cluster, web: Hooks, settings: Any) -> None:
    web.answer = {"/hook": 410}
    put(cluster, web.url())
    receivers.test(cluster.actor, cluster.user, "ci")
    (claim,) = actions.claim(10, {})
    assert actions.claim(10, {}) == [], "it is claimed"
    for failed in range(actions.ATTEMPTS):
        assert rows() == [("test", "waiting", failed)]
        actions.refused(claim, "answered 410")
        due_now()
        (claim,) = actions.claim(10, {}) or [claim]
    assert rows() == [("test", "given_up", actions.ATTEMPTS)] and not actions.due()
    receivers.test(cluster.actor, cluster.user, "ci")
    Notification.objects.filter(state="waiting").update(at=timezone.now() - dt.timedelta(hours=25))
    due_now()
    assert actions.claim(10, {}) == [] and rows()[1] == ("test", "given_up", 0)
    assert Notification.objects.last().error == actions.TOO_OLD
    settings.HYDRA = settings.HYDRA | {"notification_days": 1}
    assert retention.purge_notifications(timezone.now()) == 1 and len(rows()) == 1


def test_who_lost_the_claim_says_nothing_of_it(cluster: Cluster, web: Hooks) -> None:
    put(cluster, web.url())
    receivers.test(cluster.actor, cluster.user, "ci")
    (first,) = actions.claim(10, {})
    due_now()  # the first one was away for too long
    (second,) = actions.claim(10, {})
    actions.refused(first, "late")
    assert rows() == [("test", "waiting", 0)] and not Receiver.objects.get().error
    actions.taken(second)
    actions.taken(first)
    assert rows() == [("test", "sent", 1)]


def test_only_public_addresses_are_connected_to(cluster: Cluster, web: Hooks, settings: Any) -> None:
    put(cluster, f"http://localhost:{web.port}/hook", "name")  # 127.0.0.1 is allowed, by whatever name
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": []}
    put(cluster, web.url(), "address")
    for name in ("name", "address"):
        receivers.test(cluster.actor, cluster.user, name)
    delivery.run()
    assert not web.told
    assert {row.error.partition(";")[0] for row in Receiver.objects.all()} == {
        "localhost has no public address", "127.0.0.1 has no public address"
    }  # fmt: skip
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": ["local*"]}
    due_now()
    delivery.run()
    assert len(web.told) == 1


def mailed(cluster: Cluster, settings: Any, mails: Mails) -> None:
    """Mail goes to that server, and the user has an address."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.MAIL_ON = "127.0.0.1", mails.port, True
    settings.DEFAULT_FROM_EMAIL = "hydra@example.org"
    cluster.user.email = "ann@example.org"
    cluster.user.save()


def test_mail_goes_to_the_accounts_own_address_many_jobs_in_one(cluster: Cluster, settings: Any) -> None:
    with mail_server() as mails:
        mailed(cluster, settings, mails)
        put(cluster, None, "mail", every_job=ENDS)
        leader = ready(cluster)
        first, second = running(cluster, leader, SMALL), running(cluster, leader, SMALL)
        finish(cluster, leader, first)
        finish(cluster, leader, second)
        delivery.run()
        ((sender, to, text),) = mails.taken
        assert (sender, to) == ("hydra@example.org", ["ann@example.org"])
        assert "Subject: [Hydra] 2 jobs: job succeeded, job succeeded" in text
        assert f"Job {first} job has succeeded" in text and f"/jobs/{second}" in text
        assert rows() == [("succeeded", "sent", 1)] * 2
        receivers.test(cluster.actor, cluster.user, "mail")
        assert delivery.run() == 0, "the next one waits for what else happens"
        settings.MAIL_ON = False
        due_now()
        delivery.run()
        assert Receiver.objects.get().error == "this cluster sends no mail any more" and len(mails.taken) == 1


def test_behind_a_slow_mail_server_nothing_is_sent_twice_and_webhooks_are_told(
    cluster: Cluster, web: Hooks, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All mails together take longer than a claim holds."""
    monkeypatch.setattr(actions, "CLAIM_S", 1.0)
    monkeypatch.setattr(delivery, "MAILS_AT_ONCE", 1)
    with mail_server(slow_s=0.4) as mails:
        mailed(cluster, settings, mails)
        for n in range(6):
            put(cluster, None, f"mail-{n}")
            receivers.test(cluster.actor, cluster.user, f"mail-{n}")
        put(cluster, web.url())
        receivers.test(cluster.actor, cluster.user, "ci")
        assert delivery.run() == 7
        assert len(mails.taken) == 6 and len(web.told) == 1
    assert rows() == [("test", "sent", 1)] * 7


def test_the_duty_asks_for_delivery_only_where_something_is_due(
    cluster: Cluster, web: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(duties.deliver, "apply_async", lambda **how: asked.append(how["queue"]))
    put(cluster, web.url())
    duties.notify()
    assert not asked
    receivers.test(cluster.actor, cluster.user, "ci")
    User.objects.update(is_active=False)
    duties.notify()
    assert not asked, "of a closed account nobody hears any more"
    User.objects.update(is_active=True)
    assert "notifications" in due.kinds()
    duties.notify()
    assert asked == ["control"]
    Receiver.objects.update(free_at=clock.now() + dt.timedelta(minutes=1))
    assert "notifications" not in due.kinds()
    Receiver.objects.update(free_at=clock.now())
    duties.deliver()
    assert [json.loads(body)["type"] for body in web.of("/hook")] == ["test"]
