"""Messages that nobody here can read are dropped with a line in the log.

Celery and kombu let what is malformed end the worker, and with it all that the worker leads; what was delivered and not
acknowledged would then come back and end the next one.
"""

from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.consumer import Consumer as CeleryConsumer
from kombu.transport import redis
from redis.exceptions import DataError

log = structlog.get_logger(__name__)
# What taking malformed bytes apart raises; never what a connection does.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, RecursionError, DataError)


class Channel(redis.Channel):
    """Drops what is no envelope of a message."""

    def _brpop_read(self, **options: Any) -> bool:
        try:
            return bool(super()._brpop_read(**options))  # type: ignore[no-untyped-call]
        except MALFORMED as problem:
            log.exception("a message that is none was dropped", problem=str(problem)[:200])
            return True


class Transport(redis.Transport):
    Channel = Channel


class Consumer(CeleryConsumer):
    """Drops messages that are no tasks."""

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        handle = super().create_task_handler(*args, **kwargs)

        def on_task_received(message: Any) -> Any:
            try:
                return handle(message)
            except MALFORMED as problem:
                return self.on_decode_error(message, problem)

        return on_task_received

    def on_decode_error(self, message: Any, exc: BaseException) -> None:
        log.error("a message that is no task was dropped", problem=repr(exc)[:200])
        if not message.acknowledged:
            message.ack_log_error(log, self.connection_errors)
