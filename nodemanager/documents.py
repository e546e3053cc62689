"""What the RM wrote for this node, read from Redis: its document with the leases, the policy version, templates."""

import time
from collections.abc import Callable
from typing import Any

import hiredis

from nodemanager import events as ev
from nodemanager.clock import Clock
from nodemanager.link import Link
from nodemanager.log import note
from nodemanager.membership import Membership
from wire import desired, keys, policy, template


class DocumentReader:
    """Checks what it reads and tells the core by ``hear``. ``wanted``: whether documents may be read now.

    Hints say when to look; without any it looks once per heartbeat.
    """

    def __init__(
        self,
        link: Link,
        membership: Membership,
        clock: Clock,
        hear: Callable[[ev.Event], None],
        wanted: Callable[[], bool],
    ) -> None:
        self.link, self.membership, self.clock = link, membership, clock
        self.hear, self.wanted = hear, wanted
        self.asking = self.ask_again = self.closed = False
        self.due = 0.0  # when to look without a hint; s, monotonic
        self.last_document = self.last_policy = b""
        self.fetching: set[bytes] = set()

    def restart(self) -> None:
        """On a new connection: what was asked on an earlier one will not be answered."""
        self.fetching.clear()
        self.asking = False
        self.due = 0.0

    def forget(self) -> None:
        """Take in the next document although it may equal the last: its keys or its reader have changed."""
        self.last_document = self.last_policy = b""

    def close(self) -> None:
        """Nothing new is started on the way out."""
        self.closed = True

    def tend(self, now: float) -> None:
        """Read if it is time."""
        if now >= self.due:
            self.due = now + self.membership.heartbeat_s
            self.read()

    def read(self) -> None:
        """Ask for the document; a hint that comes meanwhile is not lost."""
        if not self.link.ready or not self.wanted() or self.closed:
            return
        if self.asking:
            self.ask_again = True
            return
        self.asking, self.due = True, time.monotonic() + self.membership.heartbeat_s
        s, n = self.membership.session.sub_cluster_id, self.membership.session.node_id
        self.link.send(self._answered, "MGET", keys.desired(s, n), keys.policy(s))

    def _answered(self, answer: Any) -> None:
        document, told = answer if isinstance(answer, list) else (answer, None)
        self._document(document)
        if isinstance(told, bytes) and told != self.last_policy and not self.closed:
            self.last_policy = told
            try:
                self.hear(ev.PolicyTold(*policy.decode(told)))
            except policy.PolicyError as error:
                note("warning", "what names the policy version cannot be read", why=str(error))

    def _document(self, answer: Any) -> None:
        self.asking = False
        if self.closed:
            return
        if self.ask_again:
            self.ask_again = False
            self.read()
        now = time.monotonic()
        if not isinstance(answer, hiredis.ReplyError):
            self.hear(ev.Contact(now))
        if not isinstance(answer, bytes) or answer == self.last_document:
            return  # absent is not empty
        try:
            doc = desired.decode(answer, self.membership.session.node_id, self.membership.lease_keys)
        except desired.DesiredError as error:
            note("warning", "a desired document is refused", why=str(error))
            if "unknown key" in str(error):
                self.membership.renew()
            return
        self.last_document = answer
        self.hear(ev.DesiredRead(doc, now, self.clock.unix()))

    def fetch(self, instruction: ev.FetchTemplate) -> None:
        """Read a template by its digest, unless it is on its way; the core asks again at every tick."""
        digest = instruction.digest
        if digest in self.fetching or not self.link.ready:
            return
        self.fetching.add(digest)
        key = keys.template(self.membership.session.sub_cluster_id, digest.hex())
        self.link.send(lambda answer: self._template(digest, answer), "GET", key)

    def _template(self, digest: bytes, answer: Any) -> None:
        self.fetching.discard(digest)
        if not isinstance(answer, bytes):
            return
        try:
            read = template.decode(answer, digest)
        except (ValueError, TypeError, KeyError):
            read = None
        self.hear(ev.TemplateRead(digest, read))
