"""What the RM wrote for this node, read from Redis: its document with the leases, the policy version, templates."""

import time
from collections.abc import Callable
from typing import Any

from nodemanager import events as ev
from nodemanager.clock import Clock
from nodemanager.log import note
from nodemanager.membership import Doubt, Membership
from nodemanager.redisconnection import RedisConnection
from wire import desired, keys, policy, template


class DocumentReader:
    """Checks what it reads and tells the core by ``dispatch``. ``may_read``: whether documents may be read now.

    Hints say when to look; without any it looks once per heartbeat.
    """

    def __init__(
        self,
        redis: RedisConnection,
        membership: Membership,
        clock: Clock,
        dispatch: Callable[[ev.Event], None],
        may_read: Callable[[], bool],
    ) -> None:
        self.redis, self.membership, self.clock = redis, membership, clock
        self.dispatch, self.may_read = dispatch, may_read
        self.reading = self.read_again = self.closed = False
        self.due = 0.0  # when to look without a hint; s, monotonic
        self.last_document = self.last_policy = b""
        self.fetching: set[bytes] = set()
        self.doubt = Doubt(membership.renew, 0.0)  # of the keys: the control plane's have changed

    def restart(self) -> None:
        """On a new connection: what was asked on an earlier one will not be answered."""
        self.fetching.clear()
        self.reading = False
        self.due = 0.0

    def forget(self) -> None:
        """Take in the next document although it may equal the last: its keys or its reader have changed."""
        self.last_document = self.last_policy = b""

    def close(self) -> None:
        """Nothing new is started on the way out."""
        self.closed = True

    def tick(self, now: float) -> None:
        """Read if it is time."""
        if now >= self.due:
            self.due = now + self.membership.heartbeat_s
            self.read()

    def read(self) -> None:
        """Ask for the document; a hint that comes meanwhile is not lost."""
        if not self.redis.ready or not self.may_read() or self.closed:
            return
        if self.reading:
            self.read_again = True
            return
        self.reading, self.due = True, time.monotonic() + self.membership.heartbeat_s
        s, n = self.membership.session.sub_cluster_id, self.membership.session.node_id
        self.redis.send(self._on_reply, "MGET", keys.desired(s, n), keys.policy(s))

    def _on_reply(self, answer: Any) -> None:
        document, policy_version = answer if isinstance(answer, list) else (answer, None)
        self._on_document(document)
        if isinstance(policy_version, bytes) and policy_version != self.last_policy and not self.closed:
            self.last_policy = policy_version
            try:
                self.dispatch(ev.PolicyVersionRead(*policy.decode(policy_version)))
            except policy.PolicyError as error:
                note("warning", "what names the policy version cannot be read", why=str(error))

    def _on_document(self, answer: Any) -> None:
        self.reading = False
        if self.closed:
            return
        if self.read_again:
            self.read_again = False
            self.read()
        if not isinstance(answer, bytes) or answer == self.last_document:
            return  # absent is not empty
        try:
            doc = desired.decode(answer, self.membership.session.node_id, self.membership.lease_keys)
        except desired.DesiredError as error:
            note("warning", "a desired document is refused", why=str(error))
            if isinstance(error, desired.WrongKey):
                self.doubt.rise(time.monotonic())
            return
        self.doubt.end()
        self.last_document = answer
        self.dispatch(ev.DesiredRead(doc, time.monotonic(), self.clock.unix()))

    def fetch(self, instruction: ev.FetchTemplate) -> None:
        """Read a template by its digest, unless it is on its way; the core asks again at every tick."""
        digest = instruction.digest
        if digest in self.fetching or not self.redis.ready:
            return
        self.fetching.add(digest)
        key = keys.template(self.membership.session.sub_cluster_id, digest.hex())
        self.redis.send(lambda answer: self._on_template(digest, answer), "GET", key)

    def _on_template(self, digest: bytes, answer: Any) -> None:
        self.fetching.discard(digest)
        if not isinstance(answer, bytes):
            return
        try:
            read = template.decode(answer, digest)
        except template.TemplateError:
            read = None
        self.dispatch(ev.TemplateRead(digest, read))
