"""A leader that takes its turns when it is told to: the product's loop without its sleeps and screens."""

from collections.abc import Callable, Mapping

from controlplane.rm.changes import Changes
from controlplane.rm.driver import leader
from controlplane.rm.driver.liveness import AnsweredClock
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.driver.round import Round, RoundSettings
from controlplane.rm.steps.publish import Signer
from simulator.faults.faultyredis import FaultyBus, FaultyRedis
from simulator.faults.memorycheck import LOG_BYTES
from simulator.faults.oracle import Oracle, require
from simulator.faults.session import Breaking, FaultySession, LeaderLease
from simulator.faults.setting import MAX_DISCONNECT_S, NODE_LOST_S
from simulator.noreasons import NoReasonReporter
from simulator.rows import Federation
from wire.states import NodeState

CONTAINER_LEASE_S = 20.0
_LOST_BY_S = MAX_DISCONNECT_S + NODE_LOST_S + 4.5  # of answered time: two answers of two seconds lie between two looks
_PACE = leader.Pace(1.0, 0.0, 0.8, NODE_LOST_S, MAX_DISCONNECT_S)


class SteppedLeader(leader.Leader):
    """Nobody looks at its screens, and it never sleeps: the time is everybody's."""

    def _sleep(self, seconds: float) -> None:
        pass

    def _publish_summary(self) -> None:
        pass


class LeaderProcess:
    """One process that leads a sub-cluster, from its take-over to its end. number: no other leader has it. breaking: of
    its session, from the take-over on."""

    def __init__(
        self, number: int, rows: Federation, sub: int, leader_lease: LeaderLease, redis: Mapping[int, FaultyRedis],
        oracle: Oracle, signer: Signer, on_commit: Callable[[int, Changes], None],
        breaking: Breaking | None = None,
    ):  # fmt: skip
        self.number, self.sub, self.oracle = number, sub, oracle
        clock, answered = rows.clock, AnsweredClock()
        self.store = FaultySession(rows, sub, leader_lease.take(), on_commit, leader_lease, self._committing)
        self.bus = FaultyBus(redis, sub, self.store.epoch, clock, lambda: answered.by(clock.now), oracle.published)
        self.store.breaking = breaking
        memory = rebuild(self.store, LOG_BYTES, answered.now)
        settings = RoundSettings(LOG_BYTES, CONTAINER_LEASE_S, True)
        rounds = Round(sub, memory, self.store, self.bus, clock, signer, settings)
        rounds.planner.reporter = NoReasonReporter()
        self.loop = SteppedLeader(
            rounds, memory, self.store, self.bus, clock, f"leader {number}", _PACE, lambda jobs: None, answered
        )
        self.started = False
        self.checked_commits = -1  # of the whole federation, when its memory was last compared with the rows

    def _committing(self, session: FaultySession, changes: Changes) -> None:
        self.oracle.committing(session, self.number, self._silence(self.bus.newest_status_at))
        done = set(changes.intents)
        for row in session.own.intents:
            if row.id in done and row.kind == "node" and "duty" not in row.payload:
                self.bus.registered(row.node_id)

    def _silence(self, status_at: dict[int, float]) -> dict[int, float]:
        """For how much answered time each node has been silent, s."""
        now = self.loop.answered.now
        return {node: now - status_at.get(node, 0.0) for node in self.store.own.nodes}

    def turn(self) -> None:
        """What is due now. Raises as the product's does, or ``Crash``."""
        if not self.started:
            self.started = True
            self.loop.begin()
            return
        woken = set() if self.bus.own.down else self.bus.wait(0.0)
        self.loop.turn(woken)

    def check_silence(self) -> None:
        """Nobody that is believed to be up has said nothing for too long."""
        silence, rows = self._silence(self.bus.changed_status_at), self.store.own.nodes
        believed = [at for at in rows if rows[at]["state"] in (NodeState.UP, NodeState.UNHEALTHY)]
        late = [at for at in believed if silence[at] > _LOST_BY_S]
        require(not late, "a silent node is lost in time", late, silence)
