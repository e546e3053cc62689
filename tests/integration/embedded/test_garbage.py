"""What is no message ends no worker, and does not come back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from celery.contrib.testing.worker import start_worker
from django.conf import settings
from redis import Redis

from controlplane.celery import app
from controlplane.embedded.home import Home
from tests.patience import wait_until

QUEUE = "garbage"
BODY = "W1tdLCB7fSwge31d"  # [[], {}, {}] in base64
SOUND: dict[str, Any] = {
    "body": BODY, "content-type": "application/json", "content-encoding": "utf-8",
    "headers": {"id": "1", "task": "garbage.sound", "lang": "py", "root_id": "1", "retries": 0, "argsrepr": "()"},
    "properties": {"delivery_tag": "t", "delivery_info": {"exchange": "", "routing_key": QUEUE},
                   "body_encoding": "base64", "correlation_id": "1", "reply_to": "1"},
}  # fmt: skip


def without(*path: str) -> dict[str, Any]:
    """A sound message that lacks one part."""
    return changed(None, *path, there=False)


def changed(value: Any, *path: str, there: bool = True) -> dict[str, Any]:
    """A sound message with one part replaced."""
    found = json.loads(json.dumps(SOUND))
    at = found
    for name in path[:-1]:
        at = at[name]
    if there:
        at[path[-1]] = value
    else:
        del at[path[-1]]
    return found  # type: ignore[no-any-return]


BROKEN = [without(name) for name in SOUND] + [changed(None, name) for name in SOUND]
BROKEN += [without(top, name) for top in ("headers", "properties") for name in SOUND[top]]
BROKEN += [changed(value, "headers", name) for name in SOUND["headers"] for value in (None, 7, [], {"a": []})]
BROKEN += [changed(value, "headers", name) for name in ("eta", "expires", "timelimit") for value in ("soon", 7, [], {})]
BROKEN += [changed(value, "properties", name) for name in SOUND["properties"] for value in (None, 7, [], "?")]
GARBAGE = [b"not json", b"", b"\xff\xfe", b"[]", b"7", b"null", b'"text"', b"{}", b"[" * 100_000]
GARBAGE += [json.dumps(each).encode() for each in BROKEN]


@pytest.fixture
def ran(stores: Home) -> Iterator[list[str]]:
    """Names of what a worker of this process has run."""
    found: list[str] = []

    @app.task(name="garbage.sound", ignore_result=True)
    def sound(word: str = "") -> None:
        found.append(word)

    broker = Redis.from_url(settings.BROKER_URL)
    broker.delete(QUEUE, "unacked", "unacked_index")
    with start_worker(app, pool="threads", perform_ping_check=False, queues=[QUEUE], loglevel="CRITICAL"):
        yield found
    assert broker.llen(QUEUE) == 0 and broker.hlen("unacked") == 0, "nothing comes back to end the next one"
    del app.tasks["garbage.sound"]
    broker.close()


@pytest.mark.django_db(transaction=True)
def test_a_worker_goes_on_after_whatever_it_is_sent(ran: list[str]) -> None:
    with Redis.from_url(settings.BROKER_URL) as broker:
        for raw in GARBAGE:
            broker.lpush(QUEUE, raw)
        app.send_task("garbage.sound", ["after all"], queue=QUEUE)
        try:
            wait_until(lambda: ran[-1:] == ["after all"], 20, "it runs what comes after")
        finally:
            left = broker.llen(QUEUE)
            assert not left, f"it has ended with {GARBAGE[max(0, len(GARBAGE) - left)][:200]!r}"
