"""Carries out what the core decides about containers, and tells it what became of them."""

import functools
import selectors
import time
from collections.abc import Callable
from pathlib import Path

from nodemanager import events as ev
from nodemanager import limits
from nodemanager.config import Config
from nodemanager.core import Core
from nodemanager.limits import Limits
from nodemanager.localize import Localizer
from nodemanager.log import note
from nodemanager.logs import LogPusher
from nodemanager.mailbox import Background
from nodemanager.membership import Membership
from nodemanager.runtimes import Happened
from nodemanager.runtimes.process import ProcessRuntime
from nodemanager.transfers import Transfers
from nodemanager.usage import Rates
from wire.ids import format_container


class ContainerManager:
    """Supervisor, files and output of this node's containers.

    ``hear`` takes events for the core; ``supervised`` is called when the supervisor has come or gone. ``cgroup``:
    name of the group of groups, "" for none.
    """

    def __init__(
        self,
        *,
        config: Config,
        found: Limits,
        core: Core,
        membership: Membership,
        containers: Path,
        localizer: Localizer,
        cgroup: str,
        selector: selectors.BaseSelector,
        background: Background,
        hear: Callable[[ev.Event], None],
        supervised: Callable[[], None],
    ) -> None:
        self.config, self.limits, self.core, self.membership = config, found, core, membership
        self.hear, self.supervised = hear, supervised
        self.runtime = ProcessRuntime(
            root=config.dir,
            containers=containers,
            cgroup=cgroup,
            max_disconnect_s=membership.session.max_disconnect_s,
            selector=selector,
            tell=self._happened,
        )
        self.transfers = Transfers(
            containers, localizer, background, localised=self._localised, collected=self._collected
        )
        self.logs = LogPusher(localizer.http, note)
        self.rates = Rates()
        self.listed = False  # the supervisor has said what it holds; before that nothing is decided

    # --- what the core asks for

    def localise(self, instruction: ev.Localise) -> None:
        """Make the container's folder and bring its files, as its tenant's user."""
        container = self.core.containers[instruction.container_id]
        assert container.lease is not None
        assert container.template is not None
        uid = limits.uid_of(self.config, self.limits, container.lease.tenant)
        self.transfers.localise(container.container_id, container.template, uid)

    def start(self, instruction: ev.Start) -> None:
        """Order the supervisor to run it, and follow what it prints."""
        cid = instruction.container_id
        folder = str(self.transfers.folder(cid))
        token = self.transfers.tokens.pop(cid, "")
        sub_cluster = self.membership.session.sub_cluster
        order = limits.order(self.core.containers[cid], self.config, self.limits, folder, sub_cluster, token)
        self.runtime.start(order)
        self.logs.watch(format_container(cid), folder)

    def stop(self, instruction: ev.Stop) -> None:
        """The polite signal now, the kill after the grace."""
        self.runtime.stop(instruction.container_id, instruction.grace_s)

    def kill(self, instruction: ev.Kill) -> None:
        """End the whole tree at once: it must not run on."""
        self.runtime.stop(instruction.container_id, 0.0)

    def collect(self, instruction: ev.Collect) -> None:
        """Send its outputs; the core hears when they are stored."""
        self.transfers.collect(instruction.container_id)

    def forget(self, instruction: ev.Forget) -> None:
        """Drop it everywhere; its folder goes once its last output has been sent."""
        cid = instruction.container_id
        self.runtime.forget(cid)
        self.logs.forget(format_container(cid), lambda: self.transfers.remove(cid))

    # --- what became of it

    def _localised(self, cid: int, error: str) -> None:
        if cid in self.core.containers:
            self.hear(ev.Localised(cid, error))
        else:
            self.transfers.remove(cid)  # forgotten while its files came

    def _collected(self, cid: int, error: str) -> None:
        self.hear(ev.Collected(cid, error))

    def _happened(self, news: Happened) -> None:
        now, cid = time.monotonic(), news.container_id
        if news.kind == "list":
            self._list(news, now)
        elif news.kind == "started":
            self.hear(ev.Started(cid, now))
        elif news.kind == "start_failed":
            self.logs.end(format_container(cid), -1)  # its stderr says why
            self.hear(ev.StartFailed(cid, news.error))
        elif news.kind == "exit" and news.exit is not None:
            self.rates.forget(cid)
            self.logs.end(format_container(cid), news.log_bytes)
            self.hear(ev.Exited(cid, news.exit))
        elif news.kind == "sample":
            self.rates.sample(cid, news.cpu_ms, now)
            self.hear(ev.Sampled(cid, news.memory_mib, news.cpu_ms))
        elif news.kind == "down":
            note("error", "the supervisor is gone; starting another")
            self.listed = False
            self.supervised()
        elif news.kind == "refused":
            note("error", "the supervisor refused an order", why=news.error)

    def _list(self, news: Happened, now: float) -> None:
        first, self.listed = not self.runtime.seen, True
        self.runtime.seen = True
        held = {record.container_id for record in news.held}
        self.hear(ev.RuntimeListed(list(news.held), now))
        for cid in held:
            if cid in self.core.containers:
                self.logs.watch(format_container(cid), str(self.transfers.folder(cid)))
        for record in news.held:
            if record.exit is not None:
                self.logs.end(format_container(record.container_id), -1)
        if first:
            self.hear(ev.Recovered())
            self._sweep(held)
            note("info", "ready", held=len(held), epoch=self.core.epoch, generation=self.core.generation)
        self.supervised()

    def _sweep(self, held: set[int]) -> None:
        """Folders of containers nobody knows any more: their last logs travel, then they go."""
        for cid in self.transfers.folders_of() - set(self.core.containers) - held:
            name = format_container(cid)
            self.logs.watch(name, str(self.transfers.folder(cid)))
            self.logs.forget(name, functools.partial(self.transfers.remove, cid))
