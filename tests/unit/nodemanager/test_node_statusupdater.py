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
from nodemanager.documents import DocumentReader
from nodemanager.http import Http
from nodemanager.isolation import Isolation
from nodemanager.mailbox import Background
from nodemanager.membership import Membership
from nodemanager.redisconnection import RedisConnection
from nodemanager.state import StateFile
from nodemanager.statusupdater import COALESCE_S, StatusUpdater
from nodemanager.usage import CpuRates
from wire.nodeapi import NodeSession

SESSION = NodeSession(7, 1, "west", "redis://127.0.0.1:1", "node-7", {"1": "00"}, 5.0, 60.0, "secret")


def updater(folder: Path) -> StatusUpdater:
    config = Config("http://127.0.0.1:1", "n", folder)
    background = Background(lambda call: call())
    core = Core(Node(7, 1, 60.0))
    membership = Membership(
        config=config,
        isolation=Isolation(False, [], 1),
        http=Http(config.control_plane, "", Clock()),
        background=background,
        known=SESSION,
        renewed=lambda changed: None,
    )
    redis = RedisConnection(
        selector=selectors.DefaultSelector(),
        background=background,
        on_ready=lambda: None,
        on_wake=lambda: None,
        on_denied=lambda why: None,
        on_unreachable=lambda why: None,
    )
    checkpoint = Checkpoint(StateFile(folder), core, membership, 0)
    return StatusUpdater(redis, core, membership, checkpoint, CpuRates(), core.handle)


def test_without_a_connection_news_wait_for_the_next_heartbeat(tmp_path: Path) -> None:
    made = updater(tmp_path)
    made.tick(100.0)
    made.request_publish(ev.PublishStatus())
    made.tick(101.0)
    assert made.due() == 105.0  # or the agent would look again and again, as fast as it can


def test_with_a_connection_news_go_out_at_once(tmp_path: Path) -> None:
    made = updater(tmp_path)
    near, far = socket.socketpair()
    with near, far:
        made.redis.selector.register(near, selectors.EVENT_READ)
        made.redis.connection, made.redis.ready = near, True
        made.tick(100.0)
        made.request_publish(ev.PublishStatus())
        assert made.due() == 100.0 + COALESCE_S
        made.tick(100.0 + COALESCE_S)
        assert made.due() == 105.0 + COALESCE_S
        assert far.recv(1 << 16).count(b"SET") == 2


def test_only_a_status_that_redis_has_taken_is_contact(tmp_path: Path) -> None:
    """A Redis that is full, or a replica, answers what is read: its RM hears nothing of this node."""
    made = updater(tmp_path)
    documents = DocumentReader(made.redis, made.membership, Clock(), made.dispatch, lambda: True)
    near, far = socket.socketpair()
    with near, far:
        made.redis.selector.register(near, selectors.EVENT_READ)
        near.setblocking(False)
        made.redis.connection, made.redis.ready = near, True

        def exchange(at: float, answer: bytes) -> float | None:
            made.tick(at)
            documents.read()
            far.sendall(answer + b"*2\r\n$-1\r\n$-1\r\n")
            made.redis._readable(selectors.EVENT_READ)
            assert not made.redis.pending and not documents.reading
            return made.core.last_contact

        full = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
        assert exchange(100.0, full) is None
        assert exchange(105.0, b"+OK\r\n") == 105.0
        assert exchange(110.0, full) == 105.0
        assert exchange(115.0, b"-READONLY You can't write against a read only replica.\r\n") == 105.0
        assert exchange(120.0, b"+OK\r\n") == 120.0, "when it was sent"
