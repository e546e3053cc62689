"""The Celery task that leads a sub-cluster, and the one that offers the post."""

from collections.abc import Callable
from contextlib import closing, suppress

import numpy as np
import psycopg
import structlog
from celery import shared_task
from django.conf import settings
from django.db import DatabaseError
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from controlplane import events, kernels, shutdown
from controlplane.celery import sending
from controlplane.rm.adapters.aheadrows import job_source
from controlplane.rm.adapters.bus import RedisBus
from controlplane.rm.adapters.clock import DatabaseClock, HostClock
from controlplane.rm.adapters.store import PostgresStore
from controlplane.rm.driver import balance, collecting, epochs, reaper
from controlplane.rm.driver.acknowledge import Acknowledger
from controlplane.rm.driver.emptying import Emptying
from controlplane.rm.driver.leader import Leader, Pace
from controlplane.rm.driver.leasekeeper import LeaseKeeper
from controlplane.rm.driver.liveness import AnsweredClock
from controlplane.rm.driver.readahead import ReadAhead
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.driver.round import Round, RoundSettings
from controlplane.rm.ports import BusDown, Fenced, Outdated, StoreDown
from controlplane.rm.steps.publish import Signer
from controlplane.statestore import bus as hints
from controlplane.statestore import due, posts
from controlplane.statestore.actions import rehoming, subclusters
from controlplane.statestore.actions.nodes import lease_master, restore_acl
from controlplane.statestore.membership import Leadership, conninfo, own_name, take
from controlplane.statestore.models import Node

log = structlog.get_logger(__name__)
_clock = HostClock()
_keeper = LeaseKeeper(settings.HYDRA["lease_s"], _clock)
_LOG_MAX_BYTES = int(settings.HYDRA["log_max_mib"] * 1024 * 1024)
terms = balance.Terms(_clock)
ahead = ReadAhead(
    _LOG_MAX_BYTES,
    settings.HYDRA["read_ahead_jobs"],
    _clock,
    lambda seconds: not shutdown.requested.wait(seconds),
)


@shared_task(name="rm.lead", ignore_result=True)
def lead(sub_cluster_id: int) -> None:
    """Lead the sub-cluster if nobody does, until told to stop, fenced off, or a round fails."""
    if not terms.may_lead(sub_cluster_id):
        return
    try:
        leadership = take(
            sub_cluster_id,
            own_name(),
            settings.HYDRA["lease_s"],
            lambda epoch: given_out(sub_cluster_id, epoch),
        )
    except (psycopg.Error, DatabaseError) as error:
        log.warning("the StateStore cannot be reached", error=str(error))
        return
    if leadership is None:
        return
    log.info("leading", sub_cluster=sub_cluster_id, epoch=leadership.epoch)
    with terms.term(sub_cluster_id) as term:
        _lead(leadership, term)
    if term.successor:
        _hand_over(sub_cluster_id, term.successor)


def read_ahead(serves: Callable[[str], bool]) -> bool:
    """Make ready for what others lead and this worker may take over; whether there was something new.

    Raises ``psycopg.Error`` or ``DatabaseError``.
    """
    subs = [sub for sub, name, holder in posts.led() if holder != own_name() and serves(f"rm.{name}")]
    with job_source() as source:
        read = ahead.follow(subs, source)
    kernels.load_for(ahead.size)
    return read > 0


def given_out(sub: int, epoch: int) -> int:
    """The highest epoch that may be in use, for a row that says ``epoch``: by Redis, and by what nodes obey.

    Without Redis it is the row's. Where that turns out too low, the first document says so, or the first status.
    """
    ids = list(Node.objects.filter(sub_cluster_id=sub).values_list("pk", flat=True))
    try:
        with closing(RedisBus(settings.REDIS_URL, sub, 0, lambda: None)) as bus:
            known, told = bus.epochs(ids)
    except BusDown as error:
        log.warning("which epochs are in use is known by the row alone", sub_cluster=sub, error=str(error))
        return epoch
    found = epochs.believed(max(known, epoch), np.array(told, np.int64))
    if found > epoch:
        log.error("the StateStore says less than was given out: was it restored?", sub_cluster=sub, row=epoch, by=found)
    return found


def _lead(leadership: Leadership, term: balance.Term) -> None:
    sub_cluster_id = leadership.sub_cluster_id
    try:
        with _keeper.keeping(leadership):
            _serve(leadership, term)
    except Fenced:
        log.warning("another leader took over", sub_cluster=sub_cluster_id, epoch=leadership.epoch)
    except Outdated as error:
        log.info("leading anew", sub_cluster=sub_cluster_id, why=str(error))
    except StoreDown as error:
        log.warning("the StateStore is gone; leading anew", sub_cluster=sub_cluster_id, error=str(error))
    finally:
        leadership.release()
        log.info("no longer leading", sub_cluster=sub_cluster_id, epoch=leadership.epoch)


def _hand_over(sub_cluster_id: int, successor: str) -> None:
    """Offer a sub-cluster that was given up to one worker; where that is lost, the next offer is to everybody."""
    log.info("handed over", sub_cluster=sub_cluster_id, to=successor)
    words = {"queue": balance.own_queue(successor), "expires": balance.RESERVED_S, "retry": False}
    with suppress(KombuError, RedisError, OSError), sending() as connection:
        lead.apply_async([sub_cluster_id], connection=connection, **words)


@shared_task(name="rm.bury", ignore_result=True)
def reap() -> None:
    """Give the jobs of sub-clusters that have gone silent new homes."""
    if "unled" not in due.kinds():
        return
    try:
        with psycopg.connect(conninfo("rm:reaper"), autocommit=True) as session:
            rehoming.forward_strays(session)
            if (after_s := reaper.lost_after_s()) is None:
                return
            back, found = rehoming.returned(session), rehoming.silent(session, after_s)
        for sub_cluster_id in back:
            subclusters.found(sub_cluster_id)
        for sub_cluster_id, name, has_jobs, nodes in found:
            _reap(sub_cluster_id, name, has_jobs, nodes)
    except (psycopg.Error, StoreDown, Fenced, BusDown) as error:
        log.warning("a lost sub-cluster keeps its jobs for now", error=str(error))


def _reap(sub: int, name: str, has_jobs: bool, nodes: list[int]) -> None:
    """Look at its nodes, and take its lease where there is something to do: jobs to move, or containers to end."""
    conf = settings.HYDRA
    with closing(RedisBus(settings.REDIS_URL, sub, 0, lambda: restore_acl(sub))) as bus:
        alive = reaper.reports(bus, _clock, nodes, 3 * conf["heartbeat_s"])
    if not has_jobs and alive:
        return
    leadership = take(sub, rehoming.UNDERTAKER, conf["lease_s"], lambda epoch: given_out(sub, epoch))
    if leadership is None:
        return
    try:
        store = PostgresStore(leadership, conf["lease_s"])
        if not alive:
            _end_all(leadership, store)
        moved = rehoming.rehome(leadership.connection, sub, store.renew, reaper.chooser(sub))
        hints.wake(set(moved.values()))
        log.warning("nobody leads a sub-cluster", name=name, jobs=len(moved), nodes_report=alive)
    finally:
        leadership.release()


def _end_all(leadership: Leadership, store: PostgresStore) -> None:
    conf, sub = settings.HYDRA, leadership.sub_cluster_id
    memory = rebuild(store, _LOG_MAX_BYTES, 0.0)
    chosen = RoundSettings(_LOG_MAX_BYTES, conf["container_lease_s"], conf["check_invariants"])
    with closing(RedisBus(settings.REDIS_URL, sub, leadership.epoch, lambda: restore_acl(sub))) as bus:
        signer = Signer(lease_master(), conf["lease_key_id"])
        ended = reaper.end_all(sub, memory, store, bus, DatabaseClock(store.now_us), signer, chosen)
    reaper.declare_lost(sub, ended)


def move_out(leadership: Leadership, store: PostgresStore) -> int:
    """Give the jobs of a sub-cluster that is being emptied other homes; how many got one."""
    sub = leadership.sub_cluster_id
    try:
        moved = rehoming.rehome(leadership.connection, sub, store.renew, reaper.chooser(sub), emptied=True)
    except (psycopg.Error, DatabaseError) as error:
        raise StoreDown(str(error)) from error
    hints.wake(set(moved.values()))
    log.info("jobs of a sub-cluster that is being emptied have moved", sub_cluster=sub, jobs=len(moved))
    return len(moved)


def _serve(leadership: Leadership, term: balance.Term) -> None:
    conf = settings.HYDRA
    sub = leadership.sub_cluster_id
    store = PostgresStore(leadership, conf["lease_s"])
    answered = AnsweredClock()
    began, cpu, made = _clock.monotonic(), _clock.processor_s(), ahead.take(sub)
    with collecting.paused():
        memory = rebuild(store, _LOG_MAX_BYTES, answered.now, made)
    took = {"took_s": round(_clock.monotonic() - began, 2), "processor_s": round(_clock.processor_s() - cpu, 2)}
    log.info("memory made", sub_cluster=sub, jobs=len(memory.jobs), read_ahead=len(made), **took)
    kernels.load_for(len(memory.jobs))
    memory.masters.grant_s = conf["master_grant_s"]
    bus = RedisBus(settings.REDIS_URL, sub, leadership.epoch, lambda: restore_acl(sub))
    clock = DatabaseClock(store.now_us)
    rounds = Round(
        sub, memory, store, bus, clock, Signer(lease_master(), conf["lease_key_id"]),
        RoundSettings(_LOG_MAX_BYTES, conf["container_lease_s"], conf["check_invariants"]),
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
        events.job_changed,
        answered,
        Acknowledger(lambda: events.hint("policy")),
        kernels.interpreted,
        lambda: terms.may_step_aside(sub),
        Emptying(lambda: move_out(leadership, store)),
    )
    try:
        leader.run(lambda: term.ends.is_set() or shutdown.requested.is_set())
    finally:
        bus.close()
