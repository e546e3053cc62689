"""Commands that people run in live containers: who begins one, whose sockets come to it, how it ends."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from controlplane.statestore import bus
from controlplane.statestore.errors import Forbidden, TooMany
from controlplane.statestore.models import Container, Exec, Node
from wire.execs import GRACE_S, Start
from wire.ids import format_container

from .audit import Actor, record

LOST = dt.timedelta(seconds=45)  # one that no web process has looked after for this long is over
LINGERS = dt.timedelta(seconds=GRACE_S + 1)  # what its person has left may run on for so long
NODE_MAX = 16  # on one node at once: each is a process beside the containers
KEPT = dt.timedelta(days=1)  # the audit log has it for longer
TOLD_MAX = 2000  # characters of the command in the audit log
BATCH = 5000
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('execs'))"  # that count how many there are
_DUE = """DELETE FROM statestore_exec WHERE id IN (
    SELECT id FROM statestore_exec WHERE seen_at < now() - %s ORDER BY id LIMIT %s)"""


def living() -> QuerySet[Exec]:
    """Those that have not ended and are looked after."""
    return Exec.objects.filter(ended_at=None, seen_at__gt=Now() - LOST)


def begin(actor: Actor, container: Container, order: dict[str, Any]) -> Exec:
    """Take it down, to be run when the person's socket comes. Raises where it may not be, or not now.

    Whether the container's own command runs yet, its node knows best.
    order: of ``wire.execs.Start``, without its container.
    """
    name = format_container(container.pk)
    if not settings.HYDRA["execs_user"]:
        raise Forbidden("the operators do not allow commands in containers here (HYDRA_EXECS_USER is 0)")
    now, start = Now(), Start(name, **order)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_ONE_AT_A_TIME)
        _check_room(actor, container)
        found = Exec.objects.create(
            user_id=actor.user_id,
            job_id=container.job_id,
            container_id=container.pk,
            sub_cluster_id=container.sub_cluster_id,
            node_id=container.node_id,
            order=order,
            created_at=now,
            seen_at=now,
        )
        what = {"ports": start.ports} if start.ports else {"tty": start.tty, "command": _told(start.command)}
        after = {"exec": found.pk, "job": container.job_id} | what
        record(actor, f"{_kind(found)}.begin", f"container/{name}", after=after)
    return found


def _kind(begun: Exec) -> str:
    """As the audit log names it."""
    return "forward" if begun.order.get("ports") else "exec"


def _told(command: list[str]) -> list[str]:
    """As much of the command as the audit log keeps."""
    told, left = [], TOLD_MAX
    for word in command:
        told.append(word[:left])
        left -= len(told[-1])
        if left <= 0:
            break
    return told


def _check_room(actor: Actor, container: Container) -> None:
    most = int(settings.HYDRA["execs_user"]), NODE_MAX, int(settings.HYDRA["execs"])
    running = living() | Exec.objects.filter(ended_at__gt=Now())
    counts = running.aggregate(
        own=Count("pk", filter=Q(user_id=actor.user_id)),
        node=Count("pk", filter=Q(node_id=container.node_id)),
        everybody=Count("pk"),
    )
    words = "of yours", "on this node", "in all"
    for count, limit, whose in zip(counts.values(), most, words, strict=True):
        if count >= limit:
            raise TooMany(f"{count} commands run in containers {whose}, at most {limit} may; end one first", [], 5)


def attach(user_id: int, number: int) -> Exec | None:
    """The account's exec, whose person has come just now; None when there is none that waits for it."""
    found = living().filter(pk=number, user_id=user_id, attached_at=None)
    return Exec.objects.get(pk=number) if found.update(attached_at=Now(), seen_at=Now()) else None


def join(node_id: int, number: int) -> Exec | None:
    """An exec of this node's, whose relay has come just now; None when none waits for it or its container is over."""
    live = Container.objects.filter(node_id=node_id).values("pk")
    found = living().filter(pk=number, node_id=node_id, joined_at=None, container_id__in=live)
    changed = found.exclude(attached_at=None).update(joined_at=Now())
    return Exec.objects.get(pk=number) if changed else None


def waiting(node_id: int) -> list[int]:
    """Numbers of execs that this node is to join."""
    found = living().filter(node_id=node_id, joined_at=None).exclude(attached_at=None)
    return list(found.order_by("pk").values_list("pk", flat=True)[:NODE_MAX])


def call(waits: Exec) -> None:
    """Tell the node that somebody waits for it. A hint: it is told again until it has come."""
    bus.wake_node(waits.sub_cluster_id, waits.node_id)


def node_of(found: Exec) -> str:
    """The node's name."""
    return Node.objects.values_list("name", flat=True).get(pk=found.node_id)


def seen(number: int) -> None:
    """Its person is still there."""
    Exec.objects.filter(pk=number, ended_at=None).update(seen_at=Now())


def end(actor: Actor, ended: Exec, how: str, lingers: bool = False) -> None:
    """It is over, in words of ``how``; ending it again changes nothing. lingers: its node has not said that it is."""
    over_at = Now() + LINGERS if lingers else Now()
    with transaction.atomic():
        if Exec.objects.filter(pk=ended.pk, ended_at=None).update(ended_at=over_at, seen_at=Now()):
            target = f"container/{format_container(ended.container_id)}"
            record(actor, f"{_kind(ended)}.end", target, after={"exec": ended.pk, "how": how})


def purge() -> int:
    """Remove those that have been over for a day; how many."""
    removed = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_DUE, [KEPT, BATCH])
            removed += cursor.rowcount
            if cursor.rowcount < BATCH:
                return removed
