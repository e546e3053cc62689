"""Celery tasks that start duties. Each is harmless when doubled, late or lost."""

from collections.abc import Callable

import structlog
from django.db import DatabaseError, close_old_connections
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from controlplane.celery import app
from controlplane.notifications import delivery
from controlplane.policy import overrides, rollouts
from controlplane.policy.staging import Action
from controlplane.router.schedules import running
from controlplane.statestore import due, partitions, posts, retention
from controlplane.statestore.actions import duty, notifications, simulationruns, subclusters
from controlplane.statestore.series import duty as series
from controlplane.whatif import tasks as whatif

log = structlog.get_logger(__name__)
LEAD = "rm.lead"
GPG_LEAD = "gpg.lead"
OFFER_EXPIRES_S = 2.0


@app.task(name="control.look")
def look() -> None:
    """What is looked at every second. One message for all, and one question: most looks find nothing to do."""
    _attempt(offer)
    _attempt(_what_is_due)


def _what_is_due() -> None:
    found = due.kinds()
    by_kind: dict[str, Callable[[], None]] = {
        "sub_clusters": take_in,
        "rollouts": roll_out,
        "overrides": override,
        "simulations": whatif.offer,
        "nodes": retire,
        "schedules": recur,
        "notifications": notify,
    }
    for kind, each in by_kind.items():
        if kind in found or (kind == "simulations" and whatif.has_runners()):
            _attempt(each)


def _attempt(each: Callable[[], None]) -> None:
    """Where it fails, the others are looked at all the same, and this one again in a second."""
    try:
        each()
    except (DatabaseError, KombuError, RedisError, OSError) as problem:
        log.warning("a duty failed", duty=each.__name__, problem=str(problem))
        close_old_connections()
    except Exception:
        log.exception("a duty failed", duty=each.__name__)


def offer() -> None:
    """Offer every sub-cluster that nobody leads to the workers that listen for it, and the GPG's post."""
    for sub_cluster_id, name in posts.free():
        app.send_task(LEAD, args=[sub_cluster_id], queue=f"rm.{name}", expires=OFFER_EXPIRES_S)
    offer_gpg()


def take_in() -> None:
    """Sub-clusters that have joined are running from now on."""
    if names := subclusters.take_in():
        log.info("sub-clusters joined", sub_clusters=names)


def offer_gpg() -> None:
    """Offer the GPG's post, if nobody has it, to the workers of ``control``."""
    if posts.gpg_is_free():
        app.send_task(GPG_LEAD, queue="control", expires=OFFER_EXPIRES_S)


def offer_simulations() -> None:
    """Have runners started for what-if questions that wait, also where beat is away."""
    if simulationruns.waiting():
        whatif.offer.apply_async(queue="control", expires=OFFER_EXPIRES_S)


def retire() -> None:
    """The last step of decommissioning nodes that are empty by now."""
    if gone := duty.retire():
        log.info("nodes decommissioned", nodes=gone)


def roll_out() -> None:
    """The next step of a policy version that is put in force in stages."""
    action = rollouts.step()
    if action is not Action.WAIT:
        log.info("a policy rollout went on", action=str(action))


def override() -> None:
    """Temporary overrides of the policy begin and end."""
    overrides.step()


def recur() -> None:
    """Jobs of schedules start when they are due."""
    if looked := running.step():
        log.info("schedules carried out", times=looked)


def notify() -> None:
    """Receivers that are to be told something hear of it, beside all else: some answer late."""
    if notifications.due():
        deliver.apply_async(queue="control", expires=OFFER_EXPIRES_S)


@app.task(name="control.deliver")
def deliver() -> None:
    """Tell what is due."""
    if told := delivery.run():
        log.info("notifications sent", tries=told)


@app.task(name="control.series")
def tell_series() -> None:
    """What the cluster does now, added to its history."""
    series.run()


@app.task(name="control.housekeeping")
def housekeeping() -> None:
    """Partitions for the days to come, and the end of what has been kept long enough."""
    partitions.ensure()
    removed = retention.run()
    if any(removed.values()):
        log.info("housekeeping", **removed)
    if max(removed.values()) >= retention.MOST:  # there is more: it would grow faster than it is removed
        housekeeping.apply_async(queue="control", expires=60)
