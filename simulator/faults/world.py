"""What lives in a life: rows, sub-clusters with their Redis, leaders, machines and agents, and its oracle."""

import random
from collections.abc import Iterator

from controlplane.rm.changes import Changes
from controlplane.rm.ports import Fenced, Outdated, StoreDown
from controlplane.rm.steps.publish import Signer
from simulator.clock import VirtualClock
from simulator.faults import memorycheck, setting
from simulator.faults.agent import Agent
from simulator.faults.faultyredis import Crash, FaultyRedis, InFlightStatus
from simulator.faults.invariants import RowsCheck
from simulator.faults.leaderprocess import LeaderProcess
from simulator.faults.machine import KILL, TERM, Machine, Process
from simulator.faults.oracle import Oracle
from simulator.faults.session import Breaking, LeaderLease
from simulator.faults.setting import MAX_DISCONNECT_S, LifeSetting
from simulator.gpg import SimulatedGpg
from simulator.rows import Federation
from simulator.workload import Machine as Hardware
from wire import desired
from wire.states import ContainerState, NodeState

_MASTER = b"the federation's lease secret, of a simulation.."
LEADER_ENDED = (Fenced, StoreDown, Outdated, Crash)


class World:
    """leaders: who believes to lead, by sub-cluster. zombies: who did and does not know that it is over. machines,
    retired: those of nodes in service and of those that left for good. agents: by node; agent_stopped_at: when a
    machine's agent ended, s. fails: (job, group, task) -> so many first attempts that fail."""

    def __init__(self, rng: random.Random, s: LifeSetting):
        self.rng, self.setting = rng, s
        self.clock = VirtualClock()
        self.rows = Federation(self.clock, keep_ended=True)
        self.oracle = Oracle(self.rows)
        self.check_rows = RowsCheck(self.rows, self.oracle)
        self.signer = Signer(_MASTER, 1)
        self.redis: dict[int, FaultyRedis] = {}
        self.leases: dict[int, LeaderLease] = {}
        self.leaders: dict[int, LeaderProcess] = {}
        self.zombies: list[LeaderProcess] = []
        self.machines: dict[int, Machine] = {}
        self.retired: dict[int, Machine] = {}
        self.agents: dict[int, Agent] = {}
        self.agent_stopped_at: dict[int, float] = {}
        self.fails: dict[tuple[int, int, int], int] = {}
        self.trace: list[str] = []
        self.number = 0  # leaders so far
        self.localize_failure_rate = 0.0  # how likely a container's files cannot be fetched
        for sub, machines in enumerate(s.machines, 1):
            self._add_sub_cluster(sub, machines)
        self.rows.publish(s.policy)
        self.gpg = SimulatedGpg(self.rows)

    def _add_sub_cluster(self, sub: int, machines: list[Hardware]) -> None:
        own = self.rows.add_sub_cluster(sub, f"s{sub}")
        self.redis[sub], self.leases[sub] = FaultyRedis(sub), LeaderLease(self.rows, sub)
        for row in setting.nodes(machines, 100 * sub):
            own.nodes[row["id"]] = row
            self.machines[row["id"]] = Machine(row["id"], sub)
            self.boot(row["id"])

    def log(self, text: str) -> None:
        self.trace.append(f"{self.clock.now:8.3f} {text}")

    # Leaders

    def lead(self, sub: int, breaking: Breaking | None = None) -> None:
        """Somebody takes the lease if it is free, or whoever leads takes a turn. breaking: of a new one's session."""
        leader = self.leaders.get(sub)
        if leader is None and self.leases[sub].free:
            leader = self._take_over(sub, breaking)
        if leader is not None:
            self.turn(leader)

    def _take_over(self, sub: int, breaking: Breaking | None) -> LeaderProcess | None:
        """None where that is over before everything is read."""
        self.number += 1
        try:
            leader = self.leaders[sub] = LeaderProcess(
                self.number, self.rows, sub, self.leases[sub], self.redis, self.oracle, self.signer, self._on_commit,
                breaking,
            )  # fmt: skip
        except LEADER_ENDED as error:
            self.log(f"leader {self.number} of {sub} does not take over: {type(error).__name__}: {error}")
            if self.rng.random() < 0.3:
                self.leases[sub].release()
            return None
        self.log(f"leader {self.number} of {sub} takes epoch {leader.store.epoch}")
        return leader

    def turn(self, leader: LeaderProcess) -> None:
        """One turn of a leader or of one that was. A leader that cannot go on is gone."""
        commits = self.oracle.commits
        try:
            leader.turn()
        except LEADER_ENDED as error:
            self.log(f"leader {leader.number} of {leader.sub} is gone: {type(error).__name__}: {error}")
            self.remove_leader(leader, release=isinstance(error, Outdated) or self.rng.random() < 0.3)
        else:
            leader.store.breaking = None
            if self.leaders.get(leader.sub) is leader:
                leader.check_silence()
                if self.oracle.commits > commits:
                    self._check_memory(leader)
        self.check_rows()

    def check(self) -> None:
        """What must hold after every step, whoever took it."""
        self.check_rows()
        for leader in self.leaders.values():
            self._check_memory(leader)

    def _check_memory(self, leader: LeaderProcess) -> None:
        """Once after anybody's commit."""
        if leader.checked_commits < self.oracle.commits:
            leader.checked_commits = self.oracle.commits
            due = any(row.master_events is None for row in leader.store.own.reports)
            memorycheck.check(leader.loop.memory, leader.store, due)

    def remove_leader(self, leader: LeaderProcess, release: bool) -> None:
        if leader in self.zombies:
            self.zombies.remove(leader)
            return
        if self.leaders.get(leader.sub) is leader:
            del self.leaders[leader.sub]
            if release:
                self.leases[leader.sub].release()

    def _on_commit(self, sub: int, c: Changes) -> None:
        new = [int(cid) for block in c.new for cid in block["id"]]
        moved = [f"{cid}>{state}" for block in c.moved for cid, state, _ in block.tolist()]
        ended = [f"{row['id']}={row['state']}/{row['reason']}" for block in c.ended for row in block]
        jobs = {job: int(entry.run.state) for job, entry in c.jobs.items()}
        asks = {key: (h.taken, h.target, h.wish) for key, (h, _) in c.asks.items()}
        self.log(f"  commit {sub}: new {new} moved {moved} ended {ended} jobs {jobs} nodes {c.nodes} asks {asks}")
        self.oracle.committed(sub, c)

    # Machines and agents

    def boot(self, node: int) -> None:
        """Its agent starts; one that knows nothing registers first."""
        machine = self.machines[node]
        key = desired.node_key(_MASTER, 1, node)
        if machine.disk is None and machine.incarnation + self.clock.now > 1:
            self.redis[machine.sub].silence(node)
            self.rows.add_intent(machine.sub, "node", node=node)
        self.agents[node] = Agent(
            machine, self.redis[machine.sub], self.clock, key, MAX_DISCONNECT_S, self.oracle, self._localize_error
        )

    def _localize_error(self, container: int) -> str:
        return "no such file" if self.localize_failure_rate and self.rng.random() < self.localize_failure_rate else ""

    def stop_agent(self, node: int) -> None:
        """It is killed: what it has not written is forgotten; of its orders the first have reached the supervisor."""
        agent = self.agents.pop(node, None)
        if agent is not None:
            agent.deliver(self.rng.randrange(len(agent.orders) + 1))
            self.agent_stopped_at[node] = self.clock.now

    def retire(self, node: int) -> None:
        """The node leaves for good, whatever runs there; another one like it takes its place."""
        self.stop_agent(node)
        machine = self.retired[node] = self.machines.pop(node)
        own = self.rows.subs[machine.sub].nodes
        row, number = own[node], max(own) + 1
        own[number] = row | {
            "id": number, "name": f"{row['name']}+", "state": int(NodeState.REGISTERED), "health": 0,
            "duty": "in_service", "duty_deadline_us": None,
        }  # fmt: skip
        row["revoked"], row["duty"] = True, "decommissioned"
        self.rows.add_intent(machine.sub, "node", node=node, decommission=True)
        self.machines[number] = Machine(number, machine.sub)
        self.boot(number)

    @property
    def ever(self) -> dict[int, Machine]:
        """Machines of all nodes there were."""
        return self.machines | self.retired

    def processes(self) -> list[tuple[Machine, Process]]:
        return [(machine, process) for machine in self.machines.values() for process in machine.alive()]

    def end(self, machine: Machine, process: Process, code: int = 0, signal: int = 0, given_up: bool = False) -> None:
        """The process ends, and the agent hears of it if there is one."""
        how = machine.end(process, self.clock.now, code, signal, given_up=given_up)
        agent = self.agents.get(machine.node)
        if agent is not None and agent.listed:
            agent.exited(process.container, how)

    def code(self, process: Process) -> int:
        """With which exit code the process ends by itself."""
        lease = process.lease
        return int(lease.attempt <= self.fails.get((lease.job_id, lease.group_no, lease.task_index), 0))

    def advance(self, seconds: float) -> None:
        self.clock.now += seconds
        now = self.clock.now
        for leader_lease in self.leases.values():
            leader_lease.expire()
        for node, machine in self.ever.items():
            given_up = node not in self.agents and now - self.agent_stopped_at.get(node, now) > MAX_DISCONNECT_S
            for process in machine.alive():
                if given_up:
                    self.end(machine, process, signal=TERM, given_up=True)
                elif process.kill_at is not None and process.kill_at <= now:
                    self.end(machine, process, signal=KILL)

    def report(self, node: int, at_once: bool) -> None:
        """The node sends its status."""
        agent = self.agents.get(node)
        published = agent.publish() if agent is not None else None
        if published is not None:
            redis = self.redis[self.machines[node].sub]
            flight = InFlightStatus(node, *published, self.clock.now)
            self.deliver(redis, flight) if at_once else redis.in_flight.append(flight)

    def deliver(self, redis: FaultyRedis, flight: InFlightStatus) -> None:
        """The status arrives, and its node learns that it did."""
        taken, agent = redis.deliver(flight), self.agents.get(flight.node)
        if taken and agent is not None and flight.sent_at is not None:
            agent.acknowledged(flight.sent_at)

    # Questions

    def live_jobs(self) -> list[int]:
        return [job for job, row in self.rows.jobs.items() if row["state"] < ContainerState.SUCCEEDED]

    def unfinished(self) -> Iterator[str]:
        """What is not at rest yet."""
        if jobs := self.live_jobs():
            yield f"jobs {[(job, self.rows.jobs[job]['state']) for job in jobs]}"
        for sub in self.rows.subs.values():
            for name in ("containers", "intents", "reports"):
                if found := getattr(sub, name):
                    yield f"{name} of {sub.id}: {found}"
        if self.rows.asks:
            yield f"asks {self.rows.asks}"
        if alive := [process.container for machine in self.ever.values() for process in machine.alive()]:
            yield f"processes {alive}"
        if held := {node: list(agent.core.containers) for node, agent in self.agents.items() if agent.core.containers}:
            yield f"nodes hold {held}"
