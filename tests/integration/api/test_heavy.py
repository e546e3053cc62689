"""Requests that bring much are answered by processes of their own, whatever becomes of these."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil
import pytest
from django.db import connection, transaction

from controlplane.router import aside, heavy
from controlplane.statestore.models import Job
from tests.integration.api.served import whole_web
from tests.integration.api.test_outages import client
from tests.integration.api.world import World, job
from tests.patience import stretched, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
FAT = {"name": "fat", "command": ["true"], "env": {"A": "x" * 100_000}}
BULK = {"jobs": [job(groups=[FAT])] * 5}


def beside(web: psutil.Process) -> tuple[psutil.Process, list[psutil.Process]]:
    """The template and its workers."""
    (template,) = web.children()
    return template, template.children()


def answers(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return bool(cursor.fetchone()[0])


class Asked:
    """A request on its way in a thread of its own."""

    def __init__(self, api: Any, method: str = "POST", path: str = "jobs/bulk", body: Any = BULK) -> None:
        self.status = 0
        self._thread = threading.Thread(target=self._ask, args=(api, method, path, body))
        self._thread.start()

    def _ask(self, api: Any, method: str, path: str, body: Any) -> None:
        self.status = api.request(method, path, json=body).status_code

    def answered(self) -> int:
        self._thread.join(stretched(60))
        return self.status


@contextmanager
def asking(api: Any) -> Iterator[list[int]]:
    """Somebody asks for little, again and again, for less in all than one may at once; what it was answered."""
    answered, end = list[int](), threading.Event()

    def ask() -> None:
        with api:
            while not end.wait(0.3):
                try:
                    answered.append(api.get("jobs").status_code)
                except httpx.HTTPError:
                    answered.append(0)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answered
    finally:
        end.set()
        thread.join(stretched(60))


def test_what_is_large_is_answered_beside_and_nobody_waits_for_it(world: World) -> None:
    with whole_web() as (url, web), client(url, world) as api, client(url, world, "other") as other:
        assert api.post("jobs", json=job()).status_code == 201
        template, workers = beside(web)
        assert not workers, "what is small is answered at once"
        made = api.post("jobs/bulk", json=BULK)
        assert made.status_code == 201 and len(made.json()["ids"]) == 5
        assert Job.objects.filter(owner=world.users["tenant"]).count() == 6
        (worker,) = beside(web)[1]
        wrong = api.post("jobs/bulk", json={"jobs": "x" * heavy.FROM_BYTES})
        assert wrong.status_code == 422 and wrong.headers["Content-Type"] == "application/problem+json"
        assert "WWW-Authenticate" in other.post("jobs/bulk", json=BULK, headers={"Authorization": "Token x"}).headers
        worker.suspend()
        asked = Asked(api)
        assert all(other.get("jobs").status_code == 200 for _ in range(3)) and not asked.status
        worker.resume()
        assert asked.answered() == 201
        assert beside(web)[1] == [worker], "one answers what comes one after the other"
        mine = [template, worker]
    wait_until(lambda: not any(map(answers, mine)), 20, "they end with the web process")


def test_a_worker_or_the_template_that_ends_costs_one_answer_at_most(world: World) -> None:
    with whole_web() as (url, web), client(url, world) as api:
        first = api.post("jobs/bulk", json=BULK)
        assert first.status_code == 201, first.text
        template, (worker,) = beside(web)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE statestore_intent")
            asked = Asked(api)
            wait_until(somebody_waits_for_a_lock, 10)
            worker.kill()
            assert asked.answered() == 503
        again = api.post("jobs/bulk", json=BULK)
        assert again.status_code == 201, f"by another worker: {again.text}"
        together = [template, *beside(web)[1]]
        template.kill()
        wait_until(lambda: not any(map(answers, together)), 20, "its workers end with it")
        said = [api.post("jobs/bulk", json=BULK).status_code for _ in range(3)]
        assert said[0] in (201, 503) and said[1:] == [201, 201], "in a thread of the process"


def test_who_asks_for_much_while_others_ask_is_answered_beside_and_others_are_not(world: World) -> None:
    little = whole_web(HYDRA_ACCOUNT_SHARE="0.001")
    with little as (url, web), client(url, world) as api, asking(client(url, world, "other")) as answered:
        assert api.get("jobs").status_code == 200 and not beside(web)[1]
        for _ in range(100):  # until it has used so much, whatever else the machine does
            assert api.put(f"artifacts/{'0' * 64}", content=b"x" * (16 << 20)).status_code == 422
            assert api.get("jobs").status_code == 200
            if beside(web)[1]:
                break
        (worker,) = beside(web)[1]
        assert worker.nice() == min(19, web.nice() + aside.NICE), "it gives way to what serves the others"
        worker.suspend()
        asked, before = Asked(api, "GET", "jobs", None), len(answered)
        wait_until(lambda: len(answered) > before + 3, 20, "the other is answered meanwhile")
        assert not asked.status
        worker.resume()
        assert asked.answered() == 200
    assert set(answered) == {200}
