"""The Celery task that has the GPG's post. It is offered by ``controlplane.duties``; a second worker stands by."""

import threading

import psycopg
import structlog
from celery import shared_task
from django.conf import settings

from controlplane import shutdown
from controlplane.gpg.duties import duties
from controlplane.gpg.loop import Loop
from controlplane.policy.following import Follower
from controlplane.statestore.membership import FENCED, Post, own_name, take_post
from controlplane.statestore.posts import GPG

log = structlog.get_logger(__name__)


@shared_task(name="gpg.lead", ignore_result=True)
def lead() -> None:
    """Do the GPG's duties if nobody does, until told to stop or fenced off."""
    lease_s = settings.HYDRA["lease_s"]
    try:
        post = take_post(GPG, own_name(), lease_s)
    except psycopg.Error as error:
        log.warning("the StateStore cannot be reached", error=str(error))
        return
    if post is None:
        return
    log.info("has the post", epoch=post.epoch)
    try:
        serve(post, lease_s, shutdown.requested)
    except psycopg.Error as error:
        lost = "another has the post" if error.sqlstate == FENCED else "the StateStore is gone; starting anew"
        log.warning(lost, epoch=post.epoch, error=str(error))
    finally:
        post.release()
        log.info("no longer has the post", epoch=post.epoch)


def serve(post: Post, lease_s: float, stop: threading.Event) -> None:
    """Do the duties, and follow the policy in force meanwhile."""
    loop = Loop(post, duties(lease_s), lease_s)
    over = threading.Event()

    def take_in(_: int) -> None:
        loop.woken.set()  # the duties read the policy themselves

    follower = Follower("gpg", post.holder, take_in)
    thread = threading.Thread(target=follower.run, args=(over,), name="gpg policy", daemon=True)
    thread.start()
    try:
        loop.run(stop)
    finally:
        over.set()
