"""Receivers: where an account hears of its jobs, by webhook or mail; and what each was told."""

import datetime as dt
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from contract.atmost import AtMost
from contract.base import ALL_SAID, Answer, Page, Request, one_of
from contract.fields import ReceiverName

URL_MAX = 2048
Event = Literal["started", "succeeded", "failed", "killed"]
ENDS: tuple[Event, ...] = ("succeeded", "failed", "killed")
Events = Annotated[list[Event], AtMost(4)]
_REMEDY = "give one such as https://hooks.example.org/hydra"


def _url(value: SecretStr) -> SecretStr:
    """An address of HTTP that says all of itself: where to connect follows from it alone."""
    text = value.get_secret_value()
    if len(text) > URL_MAX or not (text.isascii() and text.isprintable()) or " " in text:
        told = {"most": f"{URL_MAX:,}", "remedy": _REMEDY}
        raise PydanticCustomError("written", "is no address of at most {most} characters", told)
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise PydanticCustomError("written", "is no address of http or https", {"remedy": _REMEDY})
    if parts.username is not None or parts.password is not None or parts.fragment:
        remedy = "put what proves who you are into its path or query; it is sealed"
        raise PydanticCustomError("written", "holds a user, a password or a #", {"remedy": remedy})
    return value


_SHOWN = {"type": "string", "format": "password", "writeOnly": True, "maxLength": URL_MAX, "pattern": "^https?://"}
Webhook = Annotated[SecretStr, AfterValidator(_url), WithJsonSchema(_SHOWN)]


class NotifySpec(Request):
    """Tell the owner's ``receiver`` when the job begins, or ends in one of these ways."""

    receiver: ReceiverName
    events: Annotated[list[Event], AtMost(4, least=1)] = list(ENDS)


class ReceiverRequest(Request):
    """A webhook, an address that is never answered again, or mail to the account's own address.

    One that is there already stays what it is where neither is said. every_job: of what it is told for every job of the
    account, beside what job files ask for; where it is not said, of what it was before.
    """

    webhook: Webhook | None = None
    mail: bool = False
    every_job: Events | None = None


class Receiver(Answer):
    """``address``: a webhook's without its path and query, or to whom mail goes, "" where the account has no address.

    waiting: what it is still to be told, of very much 1000. failures: tries in a row that failed; error: how the last
    did; next_at: when it is tried again after it.
    """

    name: str
    kind: Annotated[str, one_of("webhook", "mail")]
    address: str
    every_job: list[str]
    created_at: dt.datetime
    changed_at: dt.datetime
    waiting: int
    failures: int
    error: str
    next_at: dt.datetime | None


class ReceiverKept(Receiver):
    """``signing_key``: with which a webhook's bodies are signed, of one that is new; it is shown this once."""

    model_config = ALL_SAID

    signing_key: str | None = None


class ReceiverList(Page):
    results: list[Receiver]


class NotifiedJob(Answer):
    id: int
    name: str


class Notification(Answer):
    """``event``: what is told of the job; ``test`` of none. tried_at, error: of the last of its attempts."""

    id: int
    event: Annotated[str, one_of("started", "succeeded", "failed", "killed", "test")]
    job: NotifiedJob | None
    at: dt.datetime
    state: Annotated[str, one_of("waiting", "sent", "given_up")]
    attempts: Annotated[int, Field(ge=0)]
    error: str
    tried_at: dt.datetime | None


class NotificationPage(Page):
    results: list[Notification]


class JobReceiver(Answer):
    """A receiver that is told of a job. events: of which; waiting, sent, given_up: what became of those so far.

    error: why the last that failed did, or why nothing is told; next_at: when it is tried again after that.
    """

    receiver: str
    events: list[str]
    waiting: int
    sent: int
    given_up: int
    error: str
    next_at: dt.datetime | None


class JobReceiverList(Page):
    results: list[JobReceiver]
