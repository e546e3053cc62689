"""Celery tasks that start duties. Each is harmless when doubled, late or lost."""

import structlog

from controlplane.celery import app
from controlplane.policy import overrides, rollouts
from controlplane.statestore import partitions, posts, retention
from controlplane.statestore.actions import duty, simulationruns, subclusters
from controlplane.statestore.series import duty as series

log = structlog.get_logger(__name__)
LEAD = "rm.lead"
GPG_LEAD = "gpg.lead"
WHAT_IF = "whatif.offer"
OFFER_EXPIRES_S = 2.0


@app.task(name="rm.offer")
def offer() -> None:
    """Offer every sub-cluster that nobody leads to the workers that listen for it; take in those that have joined."""
    if names := subclusters.take_in():
        log.info("sub-clusters joined", sub_clusters=names)
    for sub_cluster_id, name in posts.free():
        app.send_task(LEAD, args=[sub_cluster_id], queue=f"rm.{name}", expires=OFFER_EXPIRES_S)
    offer_gpg()


def offer_gpg() -> None:
    """Offer the GPG's post, if nobody has it, to the workers of ``control``."""
    if posts.gpg_is_free():
        app.send_task(GPG_LEAD, queue="control", expires=OFFER_EXPIRES_S)


def offer_simulations() -> None:
    """Have runners started for what-if questions that wait, also where beat is away."""
    if simulationruns.waiting():
        app.send_task(WHAT_IF, queue="control", expires=OFFER_EXPIRES_S)


@app.task(name="control.retire")
def retire() -> None:
    """The last step of decommissioning nodes that are empty by now."""
    if gone := duty.retire():
        log.info("nodes decommissioned", nodes=gone)


@app.task(name="policy.rollouts")
def roll_out() -> None:
    """The next step of a policy version that is put in force in stages."""
    action = rollouts.step()
    if action is not rollouts.Action.WAIT:
        log.info("a policy rollout went on", action=str(action))


@app.task(name="policy.overrides")
def override() -> None:
    """Temporary overrides of the policy begin and end."""
    overrides.step()


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
