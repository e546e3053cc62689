"""Each process says every few seconds that it lives: a hash in Redis that expires. A hint, nothing more.

When it said so is told by Redis' own clock, which is one for all hosts; for how long it has run, by its monotonic one.
"""

import os
import socket
import threading
import time
from contextlib import suppress

import redis
from django.conf import settings

from controlplane import shutdown
from controlplane.statestore import bus
from wire import keys

EVERY_S = 5.0
EXPIRES_S = 15
FORGOTTEN_S = 3600


def start(kind: str, name: str, **more: str) -> None:
    """Report, ``more`` included, from a thread of its own until the process ends. Without Redis it goes on trying."""
    facts = {"pid": os.getpid(), "host": socket.gethostname()} | more
    threading.Thread(target=_report, args=(kind, name, facts), name="liveness", daemon=True).start()


def _report(kind: str, name: str, facts: dict[str, int | float | str]) -> None:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    key, member, began = keys.component(kind, name), f"{kind}:{name}", time.monotonic()
    while not shutdown.requested.is_set():
        try:
            now = bus.clock(client)
            pipe = client.pipeline(transaction=False)
            pipe.hset(key, mapping=facts | {"up_s": round(time.monotonic() - began, 1)})
            pipe.expire(key, EXPIRES_S)
            pipe.zadd(keys.components(), {member: now})
            pipe.zremrangebyscore(keys.components(), 0, now - FORGOTTEN_S)
            pipe.execute()
        except redis.RedisError:
            pass  # the next one says it
        shutdown.requested.wait(EVERY_S)
    with suppress(redis.RedisError):
        client.zrem(keys.components(), member)  # it ends as it should: nobody need wonder
