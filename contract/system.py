"""Every part of the system, its health, and the audit log."""

import datetime as dt
from typing import Annotated, Any

from contract.base import Answer, Page, one_of


class Health(Answer):
    status: str
    stores: dict[str, str]


class AuditEntry(Answer):
    id: int
    at: dt.datetime
    actor: str | None
    action: str
    target: str
    before: Any
    after: Any
    address: str | None


class AuditPage(Page):
    results: list[AuditEntry]


class Component(Answer):
    """``remedy``: what to do, empty where all is good. ``facts``: numbers by name, units last; they differ by kind."""

    kind: Annotated[str, one_of("store", "rm", "gpg", "web", "worker", "beat", "nodes")]
    name: str
    verdict: Annotated[str, one_of("good", "warn", "bad")]
    text: str
    remedy: str
    facts: dict[str, Any]


class ComponentList(Page):
    results: list[Component]
