"""When the status is due: news hasten it only while somebody can be told."""

import selectors
import socket
from pathlib import Path

from nodemanager import events as ev
from nodemanager.checkpoint import Checkpoint
from nodemanager.clock import Clock
from nodemanager.config import Config
from nodemanager.containers import Node
from nodemanager.core import Core
from nodemanager.http import Http
from nodemanager.limits import Limits
from nodemanager.link import Link
from nodemanager.mailbox import Background
from nodemanager.membership import Membership
from nodemanager.state import StateFile
from nodemanager.statusupdater import COALESCE_S, StatusUpdater
from nodemanager.usage import Rates
from wire.nodeapi import NodeSession

SESSION = NodeSession(7, 1, "west", "redis://127.0.0.1:1", "node-7", {"1": "00"}, 5.0, 60.0, "secret")


def updater(folder: Path) -> StatusUpdater:
    config = Config("http://127.0.0.1:1", "n", folder)
    background = Background(lambda call: call())
    core = Core(Node(7, 1, 60.0))
    membership = Membership(
        config=config,
        limits=Limits(False, [], 1),
        http=Http(config.control_plane, "", Clock()),
        background=background,
        known=SESSION,
        renewed=lambda changed: None,
    )
    link = Link(
        selector=selectors.DefaultSelector(),
        background=background,
        on_ready=lambda: None,
        on_wake=lambda: None,
        on_denied=lambda why: None,
    )
    return StatusUpdater(link, core, membership, Checkpoint(StateFile(folder), core, membership, 0), Rates())


def test_without_a_connection_news_wait_for_the_next_heartbeat(tmp_path: Path) -> None:
    made = updater(tmp_path)
    made.tend(100.0)
    made.note(ev.Report())
    made.tend(101.0)
    assert made.due() == 105.0  # or the agent would look again and again, as fast as it can


def test_with_a_connection_news_go_out_at_once(tmp_path: Path) -> None:
    made = updater(tmp_path)
    near, far = socket.socketpair()
    with near, far:
        made.link.selector.register(near, selectors.EVENT_READ)
        made.link.connection, made.link.ready = near, True
        made.tend(100.0)
        made.note(ev.Report())
        assert made.due() == 100.0 + COALESCE_S
        made.tend(100.0 + COALESCE_S)
        assert made.due() == 105.0 + COALESCE_S
        assert far.recv(1 << 16).count(b"SET") == 2
