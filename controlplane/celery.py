"""The Celery application: it starts duties and nothing else. What it loses, doubles or delays, it starts again."""

import os
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun
from django.conf import settings
from django.db import close_old_connections
from kombu.connection import Connection
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

LOOK_EVERY_S = 1.0
REAP_EVERY_S = 2.0
SERIES_EVERY_S = 5.0
HOUSEKEEPING_EVERY_S = 3600.0


def _duty(task: str, every_s: float, expires_s: float) -> dict[str, Any]:
    """``expires_s``: one that nobody took for so long is not started any more."""
    return {"task": task, "schedule": every_s, "options": {"queue": "control", "expires": expires_s}}


TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), "controlplane.broker:Transport"))
app = Celery("hydra", fixups=[], set_as_current=True)  # no Django fixup: it runs every system check at each start
app.conf.update(
    broker_url=settings.BROKER_URL,
    accept_content=["json"],
    task_serializer="json",
    event_serializer="json",
    task_ignore_result=True,
    task_store_eager_result=False,
    task_acks_late=False,  # a duty that was lost is offered again
    task_default_queue="control",
    task_create_missing_queues=True,
    worker_prefetch_multiplier=1,
    worker_consumer="controlplane.broker:Consumer",
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,  # leaders lead on without a broker
    worker_enable_prefetch_count_reduction=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={"socket_keepalive": True, "health_check_interval": 10},
    enable_utc=True,
    imports=["controlplane.duties", "controlplane.rm.tasks", "controlplane.gpg.tasks", "controlplane.whatif.tasks"],
    beat_schedule={
        "posts, rollouts, overrides, simulations, empty nodes, schedules, notifications": _duty(
            "control.look", LOOK_EVERY_S, 2 * LOOK_EVERY_S
        ),
        "bury lost sub-clusters": _duty("rm.bury", REAP_EVERY_S, 2 * REAP_EVERY_S),
        "history over time": _duty("control.series", SERIES_EVERY_S, SERIES_EVERY_S),
        "housekeeping": _duty("control.housekeeping", HOUSEKEEPING_EVERY_S, HOUSEKEEPING_EVERY_S / 2),
    },
)


def sending() -> Connection:
    """A connection to the broker for one message, bounded to a few seconds where it hangs; use it in ``with``."""
    return app.connection_for_write(connect_timeout=2, transport_options={"socket_timeout": 2})


@task_prerun.connect
@task_postrun.connect
def _fresh_connections(**_: object) -> None:
    """A pooled thread must not meet a database connection that broke while it was idle."""
    close_old_connections()
