"""Having the GPG's post: duties when they fall due, and the lease renewed in between."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event

import psycopg
import structlog

from controlplane.gpg.duties import Duty
from controlplane.statestore.membership import FENCED, Post

log = structlog.get_logger(__name__)
_LONGEST_WAIT_S = 0.5


@dataclass(slots=True)
class Loop:
    """Runs the duties of one post. woken: set by others to have every duty run at once."""

    post: Post
    duties: Sequence[Duty]
    lease_s: float
    woken: Event = field(default_factory=Event)
    _done: dict[str, float] = field(default_factory=dict)  # duty -> monotonic time of its last run
    _renewed: float = -1e9

    def run(self, stop: Event) -> None:
        """Until ``stop``. Raises ``psycopg.Error`` when the post or the StateStore is lost."""
        while not stop.is_set():
            self.renew()
            self.step()
            self.woken.wait(self._pause_s())

    def renew(self) -> None:
        """Extend the lease where a quarter of it has passed."""
        if time.monotonic() - self._renewed >= self.lease_s / 4:
            self.post.fence(self.lease_s)
            self._renewed = time.monotonic()

    def step(self) -> None:
        """Run what is due. One duty that fails does not keep the others from running."""
        every = self.woken.is_set()
        self.woken.clear()
        for duty in self.duties:
            if every or time.monotonic() - self._done.get(duty.name, -1e9) >= duty.every_s():
                self._done[duty.name] = time.monotonic()
                self._run(duty)
                self.renew()

    def _run(self, duty: Duty) -> None:
        try:
            duty.run(self.post)
        except psycopg.Error as error:
            if self.post.connection.closed or error.sqlstate == FENCED:
                raise
            log.exception("a duty failed", duty=duty.name)
        except Exception:
            log.exception("a duty failed", duty=duty.name)

    def _pause_s(self) -> float:
        now = time.monotonic()
        due = min((self._done.get(d.name, -1e9) + d.every_s() for d in self.duties), default=now + _LONGEST_WAIT_S)
        return max(0.001, min(due - now, _LONGEST_WAIT_S, self.lease_s / 4))
