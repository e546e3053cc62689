"""``manage.py beat``: offers duties to the workers. Two of them are harmless, none of them stops nothing."""

from typing import Any

from django.core.management.base import BaseCommand

from controlplane import liveness
from controlplane.embedded import notify


class Command(BaseCommand):
    help = "Send the periodic duties (free posts every second, housekeeping) to the workers' queues."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from celery.signals import beat_init

        from controlplane.celery import app

        beat_init.connect(lambda **_: notify.ready(), weak=False)
        liveness.start("beat", "beat")
        app.Beat(scheduler_cls="celery.beat:Scheduler", loglevel="WARNING", quiet=True).run()
