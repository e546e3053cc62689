"""Where the clock of one process is an hour off, nothing of a job is hidden and nothing ends at another time."""

import base64
import datetime as dt
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from controlplane import clock
from controlplane.gpg.shares import ShareDuty
from controlplane.router.proxy import tickets
from controlplane.router.schedules import running
from controlplane.statestore import partitions, retention
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions import nodes as node_actions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.membership import take_post
from controlplane.statestore.models import AuditEntry, Schedule, ScheduleRun
from controlplane.statestore.posts import GPG, gpg_is_free
from controlplane.statestore.queries.subclusters import places
from controlplane.statestore.series import duty as series
from nodemanager.clock import Clock as NodeClock
from tests.integration.api.world import PASSWORD, Api, NodeApi
from tests.integration.rm.cluster import Cluster
from wire.ids import format_container
from wire.nodeapi import TIME_HEADER, Register
from wire.states import JobState

HOUR = dt.timedelta(hours=1)
KINDS = ("web", "leader", "node", "gpg", "duties")
JOB = {"name": "told", "groups": [{"name": "g", "count": 2, "command": ["true"], "resources": {"memory_mib": 64}}]}


@pytest.fixture(autouse=True)
def threads_keep_nothing(django_db_setup: None) -> None:
    """Threads of the views give their connections back, or the test database could not be removed."""
    connections.settings["default"]["CONN_MAX_AGE"] = 0


class Clocks:
    """Runs what a kind of process does, by that one's own clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wrong: str, by: dt.timedelta):
        self._monkeypatch, self._wrong, self._by = monkeypatch, wrong, by
        self._carried = clock._Carried()

    @contextmanager
    def of(self, kind: str) -> Iterator[None]:
        if kind != self._wrong:
            yield
            return
        by_s, host, host_ns, now = self._by.total_seconds(), time.time, time.time_ns, timezone.now
        with self._monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: host() + by_s)
            patch.setattr(time, "time_ns", lambda: host_ns() + int(by_s * 1e9))
            patch.setattr(timezone, "now", lambda: now() + self._by)
            patch.setattr(clock, "_carried", self._carried)
            yield


class Life:
    """A job from its submission on, of which an attempt is lost, while one clock is wrong."""

    def __init__(self, cluster: Cluster, clocks: Clocks):
        self.cluster, self.clocks = cluster, clocks
        made = Register("", "n0", "r", 4096, 4000, 2, {"name": "n0"})
        (session,) = node_actions.bulk_register(cluster.sub, [made])
        self.node, self.node_clock = NodeApi(session), NodeClock()
        cluster.nodes.unix = self.node_clock.unix
        with clocks.of("web"):
            self.began = database_now()
            _, token = accounts.new_token(SYSTEM, cluster.user, valid_s=1800)
            self.api = Api(token)
            self.job = self.api.post("jobs", JOB).json()["id"]
            told = self.node("GET", "session")
        with clocks.of("node"):
            self.node_clock.synchronize(float(told.headers[TIME_HEADER]), time.monotonic())
        with clocks.of("leader"):
            self.leader = cluster.lead()

    def get(self, path: str) -> Any:
        with self.clocks.of("web"):
            answer = self.api.get(path)
        assert answer.status_code == 200, (path, answer.content)
        return answer.json()

    def turn(self) -> None:
        with self.clocks.of("leader"):
            self.leader.clock.catch_up()
            self.leader.round()
        with self.clocks.of("node"):
            self.cluster.nodes.step()

    def play(self) -> None:
        for _ in range(3):
            self.turn()
        first = self.cluster.live(self.job)[0]
        node = next(n for n in self.cluster.ids if first.id in self.cluster.nodes.holds(n))
        self.cluster.nodes.lose(node, first.id)
        for _ in range(4):
            self.turn()
        on_n0 = [c.id for c in self.cluster.live(self.job) if c.node == "n0"]
        self.logged = [format_container(each) for each in on_n0]
        chunks = [
            {"container": each, "stream": "stdout", "offset": 0, "data": base64.b64encode(b"said\n").decode()}
            for each in self.logged
        ]
        with self.clocks.of("web"):
            assert self.node("POST", "logs", {"chunks": chunks}).status_code == 204
        self.cluster.nodes.finish()
        for _ in range(3):
            self.turn()

    def duties(self) -> None:
        with self.clocks.of("gpg"):
            assert gpg_is_free()
            post = take_post(GPG, "gpg", 60.0)
            assert post is not None
            ShareDuty(60.0).run(post)
            post.release()
        with self.clocks.of("duties"):
            series.run()
            partitions.ensure()
            retention.run()


@pytest.mark.parametrize("by", [-HOUR, HOUR], ids=["late", "early"])
def test_all_of_a_job_is_shown(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, by: dt.timedelta) -> None:
    for wrong in KINDS:
        life = Life(cluster, Clocks(monkeypatch, wrong, by))
        life.play()
        life.duties()
        assert cluster.state(life.job) == JobState.SUCCEEDED, wrong
        _judge(life, wrong)
        life.leader.close()
        places.forget()


def _judge(life: Life, wrong: str) -> None:
    job, until = life.get(f"jobs/{life.job}"), database_now()
    _in_order(life.began, *(job[at] for at in ("submitted_at", "admitted_at", "started_at", "finished_at")), until)
    found = life.get(f"jobs/{life.job}/containers")["results"]
    assert len(found) == 3, (wrong, found)
    for container in found:
        _in_order(job["submitted_at"], container["allocated_at"], container["started_at"], container["finished_at"])
    tasks = life.get(f"jobs/{life.job}/tasks")["results"]
    assert sorted(task["attempts"] for task in tasks) == [1, 2], wrong
    for task in tasks:
        _in_order(task["started_at"], task["finished_at"])
    events = life.get(f"jobs/{life.job}/events")["results"]
    _in_order(life.began, *(event["at"] for event in events), until)
    assert life.get(f"jobs/{life.job}/places")["results"][0]["containers"] == 3, wrong
    for container in life.logged:
        assert life.get(f"containers/{container}/logs")["data"] == "said\n", wrong
    hour_ago = (until - HOUR).isoformat().replace("+00:00", "Z")
    assert life.job in [each["id"] for each in life.get(f"jobs?since={hour_ago}")["results"]], wrong
    used = life.get("usage/hours")["results"]
    assert sum(row["containers"] for row in used) == 3 * (1 + KINDS.index(wrong)), wrong
    shown = life.get("series?metric=nodes_up&scope=cluster")["series"][0]["values"]
    assert any(value is not None for value in shown), wrong
    newest = AuditEntry.objects.filter(target=f"job/{life.job}").latest("pk")
    assert life.began <= newest.at <= until, wrong


def _in_order(*moments: str | dt.datetime) -> None:
    """Each to a tenth of a second: a leader's clock may be ahead of the database's by as long as an answer took."""
    read = [at if isinstance(at, dt.datetime) else dt.datetime.fromisoformat(at) for at in moments]
    for before, after in pairwise(read):
        assert before <= after + dt.timedelta(seconds=0.1), read


@pytest.mark.django_db
@pytest.mark.parametrize("by", [-HOUR, HOUR], ids=["late", "early"])
def test_no_leave_ends_at_another_time(monkeypatch: pytest.MonkeyPatch, by: dt.timedelta) -> None:
    user = accounts.create(SYSTEM, "ann", PASSWORD, "tenant")
    clocks = Clocks(monkeypatch, "wrong", by)

    def signed_in() -> tuple[Api, Client, str]:
        row, token = accounts.new_token(SYSTEM, user, valid_s=1800)
        assert abs((row.expiry - database_now()).total_seconds() - 1800) < 60
        http = Client()
        assert http.login(username="ann", password=PASSWORD)
        session = http.session
        session.set_expiry(1800)
        session.save()
        return Api(token), http, tickets.issue(user, 7, "ui")

    def hold(api: Api, http: Client, ticket: str) -> list[bool]:
        by_token, by_session = api.get("me").status_code == 200, http.get("/api/v1/me").status_code == 200
        return [by_token, by_session, tickets.read(ticket, 7, "ui") is not None]

    for maker, reader in (("wrong", "right"), ("right", "wrong"), ("wrong", "wrong")):
        with clocks.of(maker):
            made = signed_in()
        with clocks.of(reader):
            assert hold(*made) == [True, True, True], (maker, reader)
    with monkeypatch.context() as patch:  # all of them do end
        later = clock._Carried()
        later.offset_s, later._due_s = time.time() - time.monotonic() + 13 * 3600, float("inf")
        patch.setattr(clock, "_carried", later)
        assert hold(*made) == [False, False, False]


@pytest.mark.parametrize("by", [-HOUR, HOUR], ids=["late", "early"])
def test_each_time_of_a_schedule_comes_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, by: dt.timedelta
) -> None:
    clocks = Clocks(monkeypatch, "wrong", by)
    _, token = accounts.new_token(SYSTEM, cluster.user)
    with clocks.of("wrong"):
        saved = Api(token).post("schedules", {"name": "often", "cron": "0 * * * *", "job": json.dumps(JOB)})
        assert saved.status_code == 201, saved.content
        due = Schedule.objects.get().next_at
        assert due is not None and database_now() < due <= database_now() + HOUR
        running.step()
    assert not ScheduleRun.objects.exists(), "nothing is due by the database's clock"
    for now in (due, due + HOUR):
        for process in ("wrong", "right", "wrong"):
            with clocks.of(process):
                running.step(now)
    assert list(ScheduleRun.objects.order_by("at").values_list("at", flat=True)) == [due, due + HOUR]
