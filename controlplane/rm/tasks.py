"""The Celery task that leads a sub-cluster, and the one that offers the post."""

import os
import socket

import psycopg
import structlog
from celery import shared_task
from django.conf import settings

from controlplane import events, shutdown
from controlplane.rm import kernels
from controlplane.rm.bus import RedisBus
from controlplane.rm.clock import DatabaseClock
from controlplane.rm.leader import Leader, Pace
from controlplane.rm.liveness import AnsweredClock
from controlplane.rm.ports import Fenced, StoreDown
from controlplane.rm.publish import Signer
from controlplane.rm.rebuild import rebuild
from controlplane.rm.round import Round, RoundSettings
from controlplane.rm.store import PostgresStore
from controlplane.statestore.actions.nodes import lease_master, restore_acl
from controlplane.statestore.membership import Leadership, take

log = structlog.get_logger("rm")


@shared_task(name="rm.lead", ignore_result=True)
def lead(sub_cluster_id: int) -> None:
    """Lead the sub-cluster if nobody does, until told to stop, fenced off, or a round fails."""
    try:
        leadership = take(
            sub_cluster_id, os.environ.get("HYDRA_WORKER") or socket.gethostname(), settings.HYDRA["lease_s"]
        )
    except psycopg.Error as error:
        log.warning("the StateStore cannot be reached", error=str(error))
        return
    if leadership is None:
        return
    log.info("leading", sub_cluster=sub_cluster_id, epoch=leadership.epoch)
    try:
        _serve(leadership)
    except Fenced:
        log.warning("another leader took over", sub_cluster=sub_cluster_id, epoch=leadership.epoch)
    except StoreDown as error:
        log.warning("the StateStore is gone; leading anew", sub_cluster=sub_cluster_id, error=str(error))
    finally:
        leadership.release()
        log.info("no longer leading", sub_cluster=sub_cluster_id, epoch=leadership.epoch)


def _serve(leadership: Leadership) -> None:
    kernels.compile_in_background()
    conf = settings.HYDRA
    sub = leadership.sub_cluster_id
    store = PostgresStore(leadership, conf["lease_s"])
    answered = AnsweredClock()
    log_max_bytes = int(conf["log_max_mib"] * 1024 * 1024)
    memory = rebuild(store, log_max_bytes, answered.now)
    bus = RedisBus(settings.REDIS_URL, sub, leadership.epoch, lambda: restore_acl(sub))
    clock = DatabaseClock(store.now_us())
    rounds = Round(
        sub, memory, store, bus, clock, Signer(lease_master(), conf["lease_key_id"]),
        RoundSettings(log_max_bytes, conf["container_lease_s"], conf["check_invariants"]),
    )  # fmt: skip
    pace = Pace(
        heartbeat_s=conf["heartbeat_s"],
        interval_s=conf["round_interval_ms"] / 1000,
        renew_s=conf["lease_s"] / 4,
        node_lost_s=conf["node_lost_s"],
        max_disconnect_s=conf["max_disconnect_s"],
    )
    leader = Leader(
        rounds,
        memory,
        store,
        bus,
        clock,
        leadership.holder,
        pace,
        lambda jobs: events.publish_round(str(sub), jobs),
        answered,
    )
    try:
        leader.run(shutdown.requested)
    finally:
        bus.close()
