"""The Bus port over Redis: statuses in, documents and summaries out. Hints only."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from controlplane.rm.ports import BusDown, Fenced
from controlplane.statestore.bus import replied
from wire import keys, policy, status, summary
from wire.summary import Summary

# KEYS: epoch key, then document keys. ARGV: epoch, then the documents, then their channels.
# Returns -1 for a lower epoch, 0 when the epoch key was missing (Redis has lost its data), else 1.
_PUBLISH = """
local known = tonumber(redis.call('GET', KEYS[1]) or '-1')
local mine = tonumber(ARGV[1])
if known > mine then return -1 end
if known < mine then redis.call('SET', KEYS[1], ARGV[1]) end
local documents = {}
for i = 2, #KEYS do
    documents[2 * i - 3] = KEYS[i]
    documents[2 * i - 2] = ARGV[i]
end
if #KEYS > 1 then redis.call('MSET', unpack(documents)) end
for i = #KEYS + 1, #ARGV do redis.call('PUBLISH', ARGV[i], '') end
if known < 0 then return 0 end
return 1
"""
# KEYS: epoch key, policy key. ARGV: epoch, value, then the channel to wake. Leaves a missing epoch key to ``_PUBLISH``,
# which tells.
_ANNOUNCE = """
local known = tonumber(redis.call('GET', KEYS[1]) or '-1')
local mine = tonumber(ARGV[1])
if known > mine then return -1 end
if known >= 0 and known < mine then redis.call('SET', KEYS[1], ARGV[1]) end
redis.call('SET', KEYS[2], ARGV[2])
for i = 3, #ARGV do redis.call('PUBLISH', ARGV[i], ARGV[2]) end
return 1
"""
# KEYS: epoch key, then those to remove. ARGV: epoch. It takes no room, so a full Redis does it too.
_WITHDRAW = """
if tonumber(redis.call('GET', KEYS[1]) or '-1') > tonumber(ARGV[1]) then return -1 end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
"""
_BATCH = 500  # documents per script call, so that no call holds Redis for long
TEMPLATE_TTL_S = 2 * 86400
_SUMMARY_TTL_S = 15
TIMEOUT_S = 1.0
WOKEN_MAX = 5000  # nodes with news that one round takes; the rest wait for the next


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise BusDown(str(error)) from error


class RedisBus:
    """One sub-cluster's keys. ``restore_acl``: called when Redis has lost its data."""

    def __init__(self, url: str, sub_cluster_id: int, epoch: int, restore_acl: Callable[[], object]):
        self.s, self.epoch = sub_cluster_id, epoch
        self._restore_acl = restore_acl
        # Short and without retries: a paused Redis must not keep the leader from renewing its lease.
        self._redis = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0)
        )
        self._publish = self._redis.register_script(_PUBLISH)
        self._announce = self._redis.register_script(_ANNOUNCE)
        self._withdraw = self._redis.register_script(_WITHDRAW)

    def close(self) -> None:
        self._redis.close()

    def epochs(self, node_ids: Sequence[int]) -> tuple[int, list[int]]:
        """The highest epoch that has published, 0 where Redis knows of none; and which each node obeys, 0 likewise."""
        told: list[int] = []
        with _translated():
            known = int(replied(self._redis.get(keys.leader_epoch(self.s))) or 0)
            for at in range(0, len(node_ids), _BATCH):
                part = node_ids[at : at + _BATCH]
                pipe = self._redis.pipeline(transaction=False)
                for node in part:
                    pipe.getrange(keys.status(self.s, node), 0, status.HEADER.size - 1)
                told += map(status.epoch_told, part, pipe.execute())
        return known, told

    def wait(self, timeout_s: float) -> set[str]:
        """Members of the dirty set, at once when there are any, else after at most ``timeout_s``."""
        with _translated():
            try:
                found = self._redis.bzmpop(max(0.001, timeout_s), 1, [keys.dirty(self.s)], min=True, count=WOKEN_MAX)
            except redis.ResponseError as error:
                if not str(error).startswith("WRONGTYPE"):
                    raise
                self._redis.delete(keys.dirty(self.s))  # what was told is seen at the next sweep
                return {keys.INTENTS, keys.SHARES}
        return {member.decode(errors="replace") for member, _ in found[1]} if found else set()

    def wake(self, sub_clusters: Iterable[int]) -> None:
        """Tell other RMs that there are rows for them."""
        with _translated():
            pipe = self._redis.pipeline(transaction=False)
            for sub in sub_clusters:
                pipe.zadd(keys.dirty(sub), {keys.INTENTS: 0})
            if len(pipe):
                pipe.execute()

    def notify_masters(self, jobs: Iterable[int]) -> None:
        """There are events for the application masters of these jobs."""
        with _translated():
            self._redis.publish(keys.masters(), b" ".join(b"%d" % job for job in jobs))

    def statuses(self, node_ids: Sequence[int]) -> list[bytes | None]:
        if not node_ids:
            return []
        with _translated():
            return replied(self._redis.mget([keys.status(self.s, n) for n in node_ids]))

    def probe(self) -> None:
        """Returns when Redis has taken a write; a full one, or a replica, answers reads and takes none."""
        with _translated():
            self._redis.set(keys.probe(self.s), self.epoch, ex=_SUMMARY_TTL_S)

    def publish(self, documents: Mapping[int, bytes], templates: Mapping[bytes, bytes]) -> bool:
        """Put templates, then documents by node id; False when Redis has lost its data meanwhile."""
        intact = True
        with _translated():
            if templates:
                pipe = self._redis.pipeline(transaction=False)
                for digest, body in templates.items():
                    pipe.set(keys.template(self.s, digest.hex()), body, ex=TEMPLATE_TTL_S)
                pipe.execute()
            items = list(documents.items())
            for at in range(0, max(1, len(items)), _BATCH):
                part = items[at : at + _BATCH]
                names = [keys.leader_epoch(self.s), *(keys.desired(self.s, n) for n, _ in part)]
                channels = (keys.wake_channel(self.s, n) for n, _ in part)
                values: list[bytes | str | int] = [self.epoch, *(body for _, body in part), *channels]
                answer = self._publish(keys=names, args=values)
                if answer == -1:
                    raise Fenced("a leader with a higher epoch has published")
                intact = intact and answer == 1
        if not intact:
            self._restore_acl()
        return intact

    def withdraw_templates(self, digests: Collection[bytes]) -> None:
        """Remove templates that nobody needs any more."""
        names = [keys.template(self.s, digest.hex()) for digest in digests]
        with _translated():
            for at in range(0, len(names), _BATCH):
                part = [keys.leader_epoch(self.s), *names[at : at + _BATCH]]
                if self._withdraw(keys=part, args=[self.epoch]) == -1:
                    raise Fenced("a leader with a higher epoch has published")

    def announce_policy(self, version: int, wake: bool = True) -> None:
        """Tell the sub-cluster's nodes which policy version it runs: one message for all of them. wake: at once."""
        value = policy.encode(self.epoch, version)
        names = [keys.leader_epoch(self.s), keys.policy(self.s)]
        with _translated():
            if self._announce(keys=names, args=[self.epoch, value, *([keys.policy_wake(self.s)] * wake)]) == -1:
                raise Fenced("a leader with a higher epoch has published")

    def summary(self, shown: Summary, nodes: bytes, usage: Mapping[int, str]) -> None:
        """Put what screens show of this sub-cluster, and of its nodes (``statestore.nodeloads``)."""
        with _translated():
            pipe = self._redis.pipeline(transaction=False)
            pipe.set(keys.summary(self.s), summary.encode(shown), ex=_SUMMARY_TTL_S)
            pipe.set(keys.nodes(self.s), nodes, ex=_SUMMARY_TTL_S)
            if usage:
                pipe.delete(keys.usage(self.s))
                pipe.hset(keys.usage(self.s), mapping={str(i): text for i, text in usage.items()})
                pipe.expire(keys.usage(self.s), 60)
            pipe.execute()
