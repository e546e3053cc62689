"""Each process says every few seconds that it lives: a hash in Redis that expires. A hint for screens only."""

import os
import socket
import threading
import time

import redis
from django.conf import settings

from controlplane import shutdown
from wire import keys

EVERY_S = 5.0
EXPIRES_S = 15


def start(kind: str, name: str) -> None:
    """Report from a thread of its own until the process ends. Without Redis it goes on trying."""
    facts = {"pid": os.getpid(), "host": socket.gethostname(), "started_at": time.time()}
    threading.Thread(target=_report, args=(keys.component(kind, name), facts), name="liveness", daemon=True).start()


def _report(key: str, facts: dict[str, int | float | str]) -> None:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    while not shutdown.requested.is_set():
        try:
            pipe = client.pipeline(transaction=False)
            pipe.hset(key, mapping=facts | {"at": time.time()})
            pipe.expire(key, EXPIRES_S)
            pipe.execute()
        except redis.RedisError:
            pass  # the next one says it
        shutdown.requested.wait(EVERY_S)
