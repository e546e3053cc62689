"""``manage.py hollow``: one process that plays many nodes over the real protocol."""

import json
import signal
import threading
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.embedded import notify
from controlplane.statestore.actions import nodes
from controlplane.statestore.models import SubCluster
from simulator.hollow import HollowNodes, play
from wire.nodeapi import Register

BATCH = 1000  # nodes registered in one transaction
RACK_NODES = 40


class Command(BaseCommand):
    help = "Play many nodes that run nothing, until SIGTERM; prints what they did as JSON. For load tests."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sub-cluster", required=True, help="its name; several, separated by commas")
        parser.add_argument("--nodes", type=int, default=200)
        parser.add_argument("--run-s", type=float, default=1.0, help="a container's run time when its job names none")
        parser.add_argument("--memory-mib", type=int, default=65536, help="of each node")
        parser.add_argument("--vcores-milli", type=int, default=32000, help="of each node; 1000 are one core")
        parser.add_argument("--gpus", type=int, default=0, help="of each node")
        parser.add_argument("--loss", type=float, default=0.0, help="share of statuses that get lost, 0 to 1")
        parser.add_argument("--tick-s", type=float, default=0.05, help="between two looks after the nodes")
        parser.add_argument("--spread-first", type=int, default=0, help="tasks below this index run a part of the time")
        parser.add_argument("--stamp", action="store_true", help="report as processor time when a container ended")
        parser.add_argument("--remember", action="store_true", help="count containers that were started twice")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        if not 0 <= options["loss"] < 1:
            raise CommandError(f"--loss is {options['loss']}; use a share from 0 to below 1")
        played = [player(found(name), options) for name in options["sub_cluster"].split(",")]
        notify.ready()
        self.stderr.write(f"playing {sum(len(p.nodes) for p in played)} nodes of {options['sub_cluster']}")
        play(played, stop, settings.HYDRA["heartbeat_s"], options["tick_s"])
        tallies = [asdict(p.tally) for p in played]
        self.stdout.write(json.dumps(tallies[0] if len(tallies) == 1 else tallies))


def found(name: str) -> SubCluster:
    sub_cluster = SubCluster.objects.filter(name=name).first()
    if sub_cluster is None:
        known = ", ".join(SubCluster.objects.values_list("name", flat=True))
        raise CommandError(f"--sub-cluster: there is no {name!r}; there are: {known or 'none'}")
    return sub_cluster


def player(sub_cluster: SubCluster, options: dict[str, Any]) -> HollowNodes:
    return HollowNodes(
        settings.REDIS_URL,
        sub_cluster.pk,
        register(sub_cluster, options),
        options["run_s"],
        options["loss"],
        options["remember"],
        options["spread_first"],
        options["stamp"],
    )


def register(sub_cluster: SubCluster, options: dict[str, Any]) -> dict[int, dict[int, bytes]]:
    """Register ``hollow-<n>``, all with the label ``hollow``; node id -> lease keys by id."""
    wanted = [
        Register(
            join_token="",
            name=f"hollow-{n}",
            rack=f"hollow-{n // RACK_NODES}",
            memory_mib=options["memory_mib"],
            vcores_milli=options["vcores_milli"],
            gpus=options["gpus"],
            labels={"hollow": "true"},
        )
        for n in range(options["nodes"])
    ]
    sessions = []
    for at in range(0, len(wanted), BATCH):
        sessions += nodes.bulk_register(sub_cluster, wanted[at : at + BATCH])
    return {s.node_id: {int(k): bytes.fromhex(v) for k, v in s.lease_keys.items()} for s in sessions}
