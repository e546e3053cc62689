"""What is to be told: taken by whoever delivers it, and what became of that.

A receiver is claimed for a time, in which nobody else tells it anything: so one that is slow or away holds up itself
alone, and each is told of one after the other. Who claimed it last says what became of it. Who dies meanwhile has
told it, or not: it is told again once the claim has run out, with the same id.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.models import Notification, Receiver

CLAIM_S = 120.0  # longer than any try takes
OF_ONE = 10  # tries under way of one account's receivers
ATTEMPTS = 10
KEEP_TRYING = dt.timedelta(days=1)
TOO_OLD = "not taken within a day"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 10.0, 3600.0  # after a failure; three times as long after each further one
MAILED_AT_ONCE = 50  # in one mail
# How long a receiver is left alone after it has taken something: what happens meanwhile comes in one mail.
PACE_S = {Receiver.Kind.WEBHOOK: 0.2, Receiver.Kind.MAIL: 60.0}
ERROR_MAX = 300
TOO_OLD_AT_ONCE = 10_000

_WAITING = Notification.State.WAITING


@dataclass(frozen=True, slots=True)
class Claim:
    """What one receiver is to be told now, in one message."""

    receiver: Receiver
    told: list[Notification]


def _due(now: dt.datetime) -> QuerySet[Receiver]:
    """Of accounts that are closed nobody is told anything more."""
    waits = Notification.objects.filter(receiver=OuterRef("pk"), state=_WAITING)
    return Receiver.objects.filter(Exists(waits), free_at__lte=now, owner__is_active=True)


def due() -> bool:
    """Whether somebody is to be told something now."""
    return _due(database_now()).exists()


def claim(room: int, under_way: Mapping[int, int], kind: Receiver.Kind | None = None) -> list[Claim]:
    """Up to ``room`` receivers, of one kind or any, with what each is to be told; who was left alone for longest first.

    under_way: tries by whose receivers they are. Nobody has more than ``OF_ONE``: who never answers, and is made anew
    while he is waited for, holds up his owner's alone.
    """
    with transaction.atomic():
        now = database_now()
        due = _due(now).exclude(owner__in=[owner for owner, tries in under_way.items() if tries >= OF_ONE])
        due = due.filter(kind=kind) if kind else due
        found = due.select_for_update(skip_locked=True, no_key=True, of=("self",)).order_by("free_at")[:room]
        rows = _shared_out(found, under_way)
        until = now + dt.timedelta(seconds=CLAIM_S)
        Receiver.objects.filter(pk__in=[row.pk for row in rows]).update(free_at=until, claim=F("claim") + 1)
        for row in rows:
            row.claim += 1
        _give_up_old(rows, now)
    claims = [Claim(row, _next_of(row)) for row in rows]
    for each in claims:
        if not each.told:
            _free(each.receiver, free_at=now)
    return [each for each in claims if each.told]


def _shared_out(found: Iterable[Receiver], under_way: Mapping[int, int]) -> list[Receiver]:
    tries, rows = Counter(under_way), []
    for row in found:
        if tries[row.owner_id] < OF_ONE:
            tries[row.owner_id] += 1
            rows.append(row)
    return rows


def _give_up_old(rows: Collection[Receiver], now: dt.datetime) -> None:
    waiting = Notification.objects.filter(receiver__in=rows, state=_WAITING, at__lt=now - KEEP_TRYING)
    some = list(waiting.values_list("pk", flat=True)[:TOO_OLD_AT_ONCE])
    Notification.objects.filter(pk__in=some).update(state=Notification.State.GIVEN_UP, error=TOO_OLD)


def _next_of(row: Receiver) -> list[Notification]:
    """What was tried least comes first: one thing that is not taken holds up nothing for long."""
    waiting = Notification.objects.filter(receiver=row, state=_WAITING).order_by("attempts", "id")
    at_once = MAILED_AT_ONCE if row.kind == Receiver.Kind.MAIL else 1
    return list(waiting.select_related("job__owner").defer("job__spec", "job__services", "job__revisions")[:at_once])


def taken(done: Claim) -> None:
    """The receiver has it."""
    now = database_now()
    free_at = now + dt.timedelta(seconds=PACE_S[Receiver.Kind(done.receiver.kind)])
    with transaction.atomic():
        if _free(done.receiver, free_at=free_at, failures=0, error=""):
            _of(done).update(state=Notification.State.SENT, attempts=F("attempts") + 1, tried_at=now, error="")


def refused(done: Claim, why: str) -> None:
    """The receiver does not have it, or nobody knows: it is told again, less and less often."""
    now, why = database_now(), why[:ERROR_MAX]
    failures = min(done.receiver.failures + 1, 100)
    pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 3.0 ** min(failures - 1, 10))
    with transaction.atomic():
        if _free(done.receiver, free_at=now + dt.timedelta(seconds=pause_s), failures=failures, error=why):
            _of(done).update(attempts=F("attempts") + 1, tried_at=now, error=why)
            _of(done).filter(attempts__gte=ATTEMPTS).update(state=Notification.State.GIVEN_UP)


def _free(row: Receiver, **fields: object) -> bool:
    """Whether the claim still held; only then is anything said of what was claimed."""
    return bool(Receiver.objects.filter(pk=row.pk, claim=row.claim).update(**fields))


def _of(done: Claim) -> QuerySet[Notification]:
    return Notification.objects.filter(pk__in=[each.pk for each in done.told], state=_WAITING)
