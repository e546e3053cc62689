"""Carries out what the core decides about containers, and tells it what became of them."""

import functools
import selectors
import time
from collections.abc import Callable
from pathlib import Path

from nodemanager import events as ev
from nodemanager.config import Config
from nodemanager.core import Core
from nodemanager.isolation import Isolation, uid_of, users_of
from nodemanager.launchcontext import launch_context
from nodemanager.leftovers import Leftovers
from nodemanager.lifecycle import Phase
from nodemanager.localize import Localizer
from nodemanager.log import note
from nodemanager.logs import LogPusher
from nodemanager.mailbox import Background
from nodemanager.membership import Membership
from nodemanager.runtimes import RuntimeEvent
from nodemanager.runtimes.process import ProcessRuntime
from nodemanager.transfers import Transfers
from nodemanager.usage import CpuRates
from wire.ids import format_container
from wire.states import ContainerReason


class ContainerManager:
    """Supervisor, files and output of this node's containers.

    ``dispatch`` takes events for the core; ``on_supervisor_change`` is called when the supervisor has come or gone.
    ``cgroup``: name of the group of groups, "" for none.
    """

    def __init__(
        self,
        *,
        config: Config,
        isolation: Isolation,
        core: Core,
        membership: Membership,
        containers: Path,
        localizer: Localizer,
        cgroup: str,
        selector: selectors.BaseSelector,
        background: Background,
        dispatch: Callable[[ev.Event], None],
        on_supervisor_change: Callable[[], None],
    ) -> None:
        self.config, self.isolation, self.core, self.membership = config, isolation, core, membership
        self.dispatch, self.on_supervisor_change = dispatch, on_supervisor_change
        self.runtime = ProcessRuntime(
            root=config.dir,
            containers=containers,
            cgroup=cgroup,
            cpu_quota=config.cpu_quota,
            max_disconnect_s=membership.session.max_disconnect_s,
            selector=selector,
            on_event=self._on_runtime_event,
        )
        self.leftovers = Leftovers(containers, functools.partial(users_of, config), background.stopping)
        self.transfers = Transfers(
            containers, localizer, background, self.leftovers, localized=self._localized, collected=self._collected
        )
        self.logs = LogPusher(localizer.http, note)
        self.rates = CpuRates()
        self.listed = False  # the supervisor has said what it holds; before that nothing is decided

    # --- what the core asks for

    def localize(self, instruction: ev.Localize) -> None:
        """Make the container's folder and bring its files, as its tenant's user."""
        container = self.core.containers[instruction.container_id]
        assert container.lease is not None
        assert container.template is not None
        uid = uid_of(self.config, self.isolation, container.lease.tenant, container.template)
        self.transfers.localize(container.container_id, container.template, uid)

    def start(self, instruction: ev.Start) -> None:
        """Order the supervisor to run it, and follow what it prints."""
        cid = instruction.container_id
        folder = str(self.transfers.folder(cid))
        confidential = self.transfers.confidential.pop(cid, None)
        container, sub_cluster = self.core.containers[cid], self.membership.session.sub_cluster
        context = launch_context(container, self.config, self.isolation, folder, sub_cluster, confidential)
        self.runtime.start(context, confidential.sought if confidential else ())
        self.logs.follow(format_container(cid), folder)

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

    def rest(self) -> None:
        """Let the supervisor go when the node is decommissioned and nothing is left that it holds."""
        if not any(c.live for c in self.core.containers.values()) and self.runtime.rest():
            note("info", "the node is decommissioned and empty: its supervisor ends")

    def wake(self) -> None:
        """The node is taken back: nothing is decided before a supervisor has said what it holds."""
        if self.runtime.resting:
            self.runtime.wake()
            self.listed = False

    # --- what became of it

    def _localized(self, cid: int, error: str, reason: ContainerReason) -> None:
        if cid in self.core.containers:
            if error:
                self._tell(cid, f"the task could not be prepared: {error}")
            self.dispatch(ev.Localized(cid, error, reason))
        else:
            self.transfers.remove(cid)  # forgotten while its files came

    def _tell(self, cid: int, text: str) -> None:
        """Its owner reads it in the log."""
        self.transfers.tell(cid, text)
        self.logs.follow(format_container(cid), str(self.transfers.folder(cid)))
        self.logs.end(format_container(cid), -1)

    def _collected(self, cid: int, error: str, reason: ContainerReason) -> None:
        if error and cid in self.core.containers:
            self._tell(cid, f"what the task leaves behind could not be kept: {error}")
        self.logs.end(format_container(cid), -1)
        self.dispatch(ev.Collected(cid, error, reason))

    def _end_log(self, cid: int, log_bytes: int) -> None:
        """Its tasks write nothing more; what becomes of its outputs may still be said there."""
        container = self.core.containers.get(cid)
        if container is None or container.phase is not Phase.COLLECTING:
            self.logs.end(format_container(cid), log_bytes)

    def _on_runtime_event(self, event: RuntimeEvent) -> None:
        now, cid = time.monotonic(), event.container_id
        if event.kind == "list":
            self._on_list(event, now)
        elif event.kind == "started":
            self.dispatch(ev.Started(cid, now))
        elif event.kind == "start_failed":
            self.logs.end(format_container(cid), -1)  # its stderr says why
            self.dispatch(ev.StartFailed(cid, event.error))
        elif event.kind == "exit" and event.exit is not None:
            self.rates.forget(cid)
            self.dispatch(ev.Exited(cid, event.exit))
            self._end_log(cid, event.log_bytes)
        elif event.kind == "sample":
            self.rates.sample(cid, event.cpu_ms, now)
            self.dispatch(ev.Sampled(cid, event.memory_mib, event.cpu_ms))
        elif event.kind == "down":
            note("error", "the supervisor is gone; starting another")
            self.listed = False
            self.on_supervisor_change()
        elif event.kind == "refused":
            note("error", "the supervisor refused an order", why=event.error)

    def _on_list(self, event: RuntimeEvent, now: float) -> None:
        first, self.listed = not self.runtime.listed_before, True
        self.runtime.listed_before = True
        held = {record.container_id for record in event.containers}
        self.dispatch(ev.RuntimeListed(list(event.containers), now))
        for cid in held:
            if cid in self.core.containers:
                self.logs.follow(format_container(cid), str(self.transfers.folder(cid)))
        for record in event.containers:
            if record.exit is not None:
                self._end_log(record.container_id, -1)
        if first:
            self.dispatch(ev.Recovered())
            self._sweep(held)
            note("info", "ready", held=len(held), epoch=self.core.epoch, generation=self.core.generation)
        self.on_supervisor_change()

    def _sweep(self, held: set[int]) -> None:
        """Folders of containers nobody knows any more: their last logs travel, then they go."""
        for cid in self.transfers.container_ids() - set(self.core.containers) - held:
            name = format_container(cid)
            self.logs.follow(name, str(self.transfers.folder(cid)))
            self.logs.forget(name, functools.partial(self.transfers.remove, cid))
