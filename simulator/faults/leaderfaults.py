"""What befalls leaders, and what the steps of a life choose from."""

from simulator.faults.oracle import Oracle
from simulator.faults.session import Breaking
from simulator.faults.world import World
from simulator.gpg import SimulatedGpg

# So many words has a leader with the StateStore in one turn, and in a take-over with its first turn, at most about.
_IN_TURN, _IN_TAKE_OVER = 16, 30


class Choices:
    """Of what a step is about. killed: jobs that somebody wanted stopped. stalls: whether the next leader at which much
    is at stake stands still."""

    def __init__(self, world: World):
        self.w, self.rng = world, world.rng
        self.killed: set[int] = set()
        self.stalls = False

    @property
    def oracle(self) -> Oracle:
        return self.w.oracle

    def _sub(self) -> int:
        return self.rng.choice(list(self.w.redis))

    def _node(self) -> int:
        return self.rng.choice(list(self.w.machines))

    def _well(self) -> bool:
        return self.rng.random() < self.w.setting.calm_share

    def _serves(self, job: int) -> bool:
        return bool(self.w.rows.jobs[job]["kind"] == "service")

    def _kill(self, job: int) -> None:
        self.killed.add(job)
        self.w.rows.add_intent(self.w.rows.jobs[job]["home_id"], "kill", job, message="stop")
        self.w.log(f"  kill job {job}")

    def _lose_leader(self, sub: int) -> None:
        """Whoever takes over next may do so at once."""
        if (leader := self.w.leaders.get(sub)) is not None:
            self.w.remove_leader(leader, release=True)

    def _turn_of(self, node: int) -> None:
        if (agent := self.w.agents.get(node)) is not None:
            agent.work()
            agent.read()
            agent.work()
            self.w.report(node, at_once=True)


class LeaderFaults(Choices):
    def break_commit(self) -> None:
        """The next commit of a leader fails, or its outcome is never told."""
        leader = self.w.leaders.get(self._sub())
        if leader is not None:
            leader.store.fault = self.rng.choice(("before", "after", "crash before", "crash after"))
            self.w.turn(leader)

    def break_word(self) -> None:
        """The session of a leader breaks at some word of its next turn, whichever that is."""
        leader = self.w.leaders.get(self._sub())
        if leader is not None:
            leader.loop.memory.placeable = True
            leader.store.breaking = self._breaking(_IN_TURN)
            self.w.turn(leader)

    def crash_leader(self) -> None:
        if (leader := self.w.leaders.get(self._sub())) is not None:
            self.w.remove_leader(leader, release=self.rng.random() < 0.5)

    def take_over(self) -> None:
        """A leader is replaced while it stands still; it does not know."""
        sub = self._sub()
        leader = self.w.leaders.pop(sub, None)
        if leader is not None:
            self.w.zombies.append(leader)
            self.w.leases[sub].release()
            self.w.lead(sub)

    def break_take_over(self) -> None:
        """A leader is gone, and whoever takes over does not get far."""
        sub = self._sub()
        self._lose_leader(sub)
        self.w.lead(sub, self._breaking(_IN_TAKE_OVER))

    def _breaking(self, within: int) -> Breaking:
        return Breaking(self.rng.randrange(within), self.rng.random() < 0.5)

    def lose_store(self) -> None:
        """Nobody reaches the StateStore for a while; nodes go on."""
        w = self.w
        for leader in [*w.leaders.values(), *w.zombies]:
            leader.store.broken = True
            w.turn(leader)
        for _ in range(self.rng.choice((1, 3, 5, 10))):
            w.advance(0.9)
            for node in w.machines:
                self._turn_of(node)

    def crash_gpg(self) -> None:
        """Another one goes on from what the last has written."""
        self.w.gpg = SimulatedGpg(self.w.rows)

    def zombie(self) -> None:
        """One that was replaced goes on."""
        if self.w.zombies:
            leader = self.rng.choice(self.w.zombies)
            leader.loop.memory.placeable = True
            self.w.log(f"  leader {leader.number} of {leader.sub} goes on")
            self.w.turn(leader)

    def break_publish(self) -> None:
        if (leader := self.w.leaders.get(self._sub())) is not None:
            leader.bus.breaks_after = self.rng.randrange(3)
            self.w.turn(leader)
            leader.bus.breaks_after = None

    def stall_leader(self) -> None:
        """A leader stands still before its commit, soon: where most is at stake."""
        self.stalls = True
        if self.rng.random() < 0.3:
            self._stall(self._sub())

    def _at_stake(self) -> list[int]:
        """Sub-clusters that were asked to run something and have not done so, or do not know yet."""
        asks = self.w.rows.asks.items()
        unread = {key[2] for key, ask in asks if ask.version > ask.acknowledged}
        asked = unread or {key[2] for key, ask in asks if ask.taken < ask.target}
        return sorted(asked & self.w.leaders.keys())

    def lead(self) -> None:
        self.w.advance(0.02)
        at_stake = self._at_stake() if self.stalls else ()
        if at_stake:
            self.stalls = False
            self._stall(self.rng.choice(at_stake))
        else:
            self.w.lead(self._sub())

    def _stall(self, sub: int) -> None:
        """Its lease runs out, and the others go on without it."""
        w = self.w
        leader = w.leaders.get(sub)
        if leader is None:
            return
        waiting = sorted({key[0] for key, ask in w.rows.asks.items() if key[2] == sub and ask.taken < ask.target})
        stopped = self.rng.choice(waiting) if waiting and self.rng.random() < 0.7 else 0

        def meanwhile() -> None:
            w.log(f"  leader {leader.number} of {sub} stands still before its commit")
            w.leases[sub].release()
            if stopped:
                self._kill(stopped)
            for _ in range(self.rng.randrange(1, 6)):
                w.advance(0.9)
                for other in w.redis:
                    if other != sub:
                        w.lead(other)
            w.log(f"  leader {leader.number} of {sub} goes on")

        leader.store.meanwhile = meanwhile
        leader.loop.memory.placeable = True
        w.turn(leader)
        leader.store.meanwhile = None
