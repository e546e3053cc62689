"""The node's place in the cluster: it joins with its token, and renews its session whenever something refuses it."""

import random
import time
from collections.abc import Callable

from nodemanager import session
from nodemanager.config import Config
from nodemanager.http import Http, HttpError
from nodemanager.isolation import Isolation
from nodemanager.log import note
from nodemanager.mailbox import Background
from nodemanager.state import Saved
from wire import keys, nodeapi
from wire.nodeapi import NodeSession

JOIN_RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
RENEW_S = 5.0  # least time between two session requests
DOUBT_S = 60.0  # between two while all that is known is that something does not work


def join(config: Config, isolation: Isolation, http: Http, saved: Saved) -> Saved:
    """The saved session when it is this node's; else register, blocking and trying until it works. Raises OSError."""
    known = ""
    if saved.control_plane == config.control_plane and saved.session.get("name") == config.name:
        try:
            there = session.parse(saved.session)
            known = there.credential
            http.authorization = session.authorization(there)
            if session.is_current(saved.session, config, isolation):
                _keep(config, known)
                session.drop_join_token(config)
                return saved
        except ValueError:
            pass
    fresh = _register(config, isolation, http, known or session.own_credential(config))
    session.keep_credential(config, fresh.credential)
    if saved.session.get("node_id") != fresh.node_id:
        saved.epoch = saved.generation = 0
    saved.session = session.to_json(fresh, config, isolation)
    saved.control_plane = config.control_plane
    note("info", "registered", node_id=fresh.node_id, sub_cluster=fresh.sub_cluster)
    return saved


def _keep(config: Config, credential: str) -> None:
    """Beside the state, which knows it too, where an older node manager has not done so."""
    try:
        if not session.credential_path(config).exists():
            session.keep_credential(config, credential)
    except OSError as error:
        note("warning", "the node's credential is in its state alone", why=str(error))


def _register(config: Config, isolation: Isolation, http: Http, credential: str) -> NodeSession:
    attempt = 0
    while True:
        try:
            return session.register(http, config, isolation, credential)
        except (HttpError, ValueError) as error:
            unknown = getattr(error, "status", 0) == 403 and not session.join_token(config)
            why = f"{error}; {session.no_token(config)}" if unknown else str(error)
            note("warning", "not registered yet", why=why, control_plane=config.control_plane)
            time.sleep(JOIN_RETRY_S[min(attempt, len(JOIN_RETRY_S) - 1)])
            attempt += 1


class Doubt:
    """That the session is not what it was: what it says does not work. Asks for it again, less and less often.

    first_s: how long to wait before it is asked for; up to half as long again, so that not all nodes ask together.
    """

    def __init__(self, renew: Callable[[], None], first_s: float) -> None:
        self.renew, self.first_s = renew, first_s
        self.end()

    def end(self) -> None:
        """What the session says works: nothing is asked for any more, and the next doubt begins anew."""
        self.pause_s, self.ask_at = RENEW_S, float("-inf")

    def rise(self, now: float) -> None:
        """It does not work. now: s, monotonic."""
        if self.ask_at < 0:
            self.ask_at = now + self.first_s * random.uniform(1.0, 1.5)
        if now >= self.ask_at:
            self.renew()
            self.ask_at = now + self.pause_s * random.uniform(1.0, 1.5)
            self.pause_s = min(2 * self.pause_s, DOUBT_S)


class Membership:
    """The session in force. ``renewed(changed)`` is called on the loop with every answer to ``renew``."""

    def __init__(
        self,
        *,
        config: Config,
        isolation: Isolation,
        http: Http,
        background: Background,
        known: NodeSession,
        renewed: Callable[[bool], None],
    ) -> None:
        self.config, self.isolation, self.http = config, isolation, http
        self.background, self.renewed = background, renewed
        self._use(known)
        self.renewing = self.decommissioned = False
        self.refusal = ""  # said once, not with every answer
        self.requested_at = float("-inf")

    def _use(self, fresh: NodeSession) -> None:
        self.session = fresh
        self.lease_keys = session.keys(fresh)
        self.heartbeat_s = self.config.heartbeat_s or fresh.heartbeat_s

    @property
    def channels(self) -> tuple[str, str]:
        """Where hints for this node are published: a new document, a new policy version."""
        s = self.session
        return keys.wake_channel(s.sub_cluster_id, s.node_id), keys.policy_wake(s.sub_cluster_id)

    def renew(self) -> None:
        """Ask the control plane who we are; it restores our Redis user on the way."""
        if self.renewing or time.monotonic() - self.requested_at < RENEW_S:
            return
        self.renewing, self.requested_at = True, time.monotonic()
        known = self.session

        def work() -> None:
            try:
                fresh = session.renew(self.http, self.config, self.isolation, known)
            except (HttpError, ValueError) as error:
                text, gone = str(error), getattr(error, "status", 0) == nodeapi.DECOMMISSIONED
                self.background.post(lambda: self._on_refused(text, gone))
            else:
                self.background.post(lambda: self._on_session(fresh))

        self.background.contact.submit(work)

    def _on_refused(self, why: str, gone: bool) -> None:
        self.renewing = False
        self.decommissioned = gone or self.decommissioned  # until it is taken back: no answer at all takes nothing back
        if why != self.refusal:
            note("warning", "the control plane did not renew the session", why=why)
        self.refusal = why

    def _on_session(self, fresh: NodeSession) -> None:
        self.renewing = self.decommissioned = False
        self.refusal = ""
        changed = fresh != self.session
        self._use(fresh)
        self.renewed(changed)
