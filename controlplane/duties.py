"""Celery tasks that start duties. Each is harmless when doubled, late or lost."""

import structlog

from controlplane.celery import app
from controlplane.statestore import partitions, posts, retention
from controlplane.statestore.actions import duty

log = structlog.get_logger(__name__)
LEAD = "rm.lead"
OFFER_EXPIRES_S = 2.0


@app.task(name="rm.offer")
def offer() -> None:
    """Offer every sub-cluster that nobody leads to the workers that listen for it."""
    for sub_cluster_id, name in posts.free():
        app.send_task(LEAD, args=[sub_cluster_id], queue=f"rm.{name}", expires=OFFER_EXPIRES_S)


@app.task(name="control.retire")
def retire() -> None:
    """The last step of decommissioning nodes that are empty by now."""
    if gone := duty.retire():
        log.info("nodes decommissioned", nodes=gone)


@app.task(name="control.housekeeping")
def housekeeping() -> None:
    """Partitions for the days to come, and the end of what has been kept long enough."""
    partitions.ensure()
    removed = retention.run()
    if any(removed.values()):
        log.info("housekeeping", **removed)
