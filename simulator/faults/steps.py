"""The steps of a life: what may happen, and how often."""

from copy import deepcopy
from typing import Any

from scheduler.lifecycle.restarting import runs
from simulator.faults import setting
from simulator.faults.faultyredis import InFlightStatus
from simulator.faults.leaderfaults import LeaderFaults
from simulator.faults.machine import KILL, TERM
from wire import keys, status
from wire.resources import CORES
from wire.states import ContainerState
from wire.status import ContainerReport

# name -> how often, beside one another
ORDINARY = {
    "lead": 30.0,
    "node": 34.0,
    "exit_processes": 10.0,
    "pass_time": 14.0,
    "deliver": 6.0,
    "submit": 6.0,
    "share": 3.0,
}
FAULTS = {
    "kill": 2.5, "priority": 0.7, "move": 1.2, "policy": 0.4, "drain": 0.8, "retire": 0.8, "break_commit": 2.5,
    "break_word": 2.0, "crash_leader": 1.0, "take_over": 1.5, "break_take_over": 1.0, "stall_leader": 3.0,
    "zombie": 2.0, "lose_store": 0.4, "crash_gpg": 0.6, "break_publish": 1.0, "flush": 0.8, "redis_down": 0.6,
    "fill_redis": 0.6, "crash_agent": 2.5, "lose_disk": 0.6, "reboot": 0.6, "replace": 0.6, "cut_network": 1.5,
    "drop_status": 1.0, "duplicate_status": 1.0, "old_document": 1.5, "corrupt": 2.0, "misreport": 1.4, "signal": 0.7,
    "stall": 1.2, "fail_localization": 0.4,
}  # fmt: skip
# In lives of services.
CHANGES = {"scale": 4.0, "restart": 4.0, "update": 4.0}


class Steps(LeaderFaults):
    # What happens anyway

    def node(self) -> None:
        """A node's agent gets to do some of what it should."""
        node = self._node()
        self.w.advance(0.02)
        agent = self.w.agents.get(node)
        if agent is None:
            if self.rng.random() < 0.5:
                self.w.boot(node)
            return
        agent.work()
        if self._well():
            agent.read()
            if self._well():
                agent.work()
        if self.rng.random() < 0.5 and agent.persist and agent.listed:
            agent.save()
        if self._well():
            self.w.report(node, at_once=self._well())

    def exit_processes(self) -> None:
        """Some processes end by themselves, or as they were told."""
        for machine, process in self.w.processes():
            if self.rng.random() < 0.4:
                asked = process.kill_at is not None and self.rng.random() < 0.7
                self.w.end(machine, process, signal=TERM) if asked else self._finish(machine.node, process.container)

    def _finish(self, node: int, container: int) -> None:
        machine = self.w.machines[node]
        process = machine.processes[container]
        if self._serves(process.lease.job_id) and process.kill_at is None and self.rng.random() < 0.8:
            return
        self.w.end(machine, process, self.w.code(process))

    def pass_time(self) -> None:
        self.w.advance(self.rng.choice((0.1, 0.3, 1.0)))

    def deliver(self) -> None:
        """Statuses arrive, in whatever order."""
        for redis in self.w.redis.values():
            while redis.in_flight and self.rng.random() < 0.7:
                self.w.deliver(redis, redis.in_flight.pop(self.rng.randrange(len(redis.in_flight))))

    def share(self) -> None:
        """The GPG looks; leaders hear of other shares at once, or find them."""
        if self.w.gpg.step() and self._well():
            for redis in self.w.redis.values():
                redis.dirty[keys.SHARES] = None

    def submit(self) -> None:
        w, home = self.w, self._sub()
        stray = self.rng.random() < w.setting.strays
        of = self.rng.choice([sub for sub in w.redis if sub != home]) if stray else home
        room = w.setting.machines[of - 1]
        job = setting.job(self.rng, w.clock, w.rows.submitted + 1, room, w.setting, stray)
        number = w.rows.submit(home, job.row)
        w.fails |= {(number, no, task): times for (no, task), times in job.fails.items()}
        w.redis[home].dirty["@"] = None
        shape = [(g.count, g.resources[CORES], g.gang, g.after) for g in w.oracle.groups(number)]
        w.log(f"  job {number} at {home} for {of}: {job.row['kind']} {job.row['queue']} {shape}")

    # What people do

    def kill(self) -> None:
        if jobs := self.w.live_jobs():
            tasks = self.w.rows.tasks
            retried = [job for job in jobs if any(not state for state, *_ in tasks.get(job, {}).values())]
            self._kill(self.rng.choice(retried if retried and self.rng.random() < 0.7 else jobs))

    def priority(self) -> None:
        if jobs := self.w.live_jobs():
            job = self.rng.choice(jobs)
            self.w.rows.add_intent(self.w.rows.jobs[job]["home_id"], "priority", job, priority=self.rng.randrange(5))

    def move(self) -> None:
        """Somebody puts a job into another queue."""
        if jobs := self.w.live_jobs():
            job, queue = self.rng.choice(jobs), f"root.{self.rng.choice((*setting.QUEUES, setting.LIMITED))}"
            self.w.rows.add_intent(self.w.rows.jobs[job]["home_id"], "move", job, queue=queue)
            self.w.log(f"  move job {job} to {queue}")

    def scale(self) -> None:
        """Somebody wants a service to have another number of tasks; the message may be late, or come twice."""
        if jobs := [job for job in self.w.live_jobs() if self._serves(job)]:
            job, count = self.rng.choice(jobs), self.rng.randrange(1, 6)
            asked_us = self.w.clock.now_us() - self.rng.choice((0, 0, 0, 500_000))
            for _ in range(self.rng.choice((1, 1, 2))):
                self._ask(job, "scale", count=count, asked_us=asked_us)
            self.w.log(f"  scale job {job} to {count}")

    def restart(self) -> None:
        """Somebody wants some of a service's tasks to start again, or all, one after the other."""
        jobs = [job for job in self.w.live_jobs() if self._serves(job)]
        if not jobs:
            return
        job = self.rng.choice(jobs)
        live = {c.task: c.attempt for sub in self.w.rows.subs.values() for c in sub.containers.values() if c.job == job}
        pausing = [each for each in self._pausing(job) if each[0] not in live]
        tasks = sorted([*live.items(), *pausing])
        one_by_one = self.rng.random() < 0.5
        if tasks and not one_by_one:
            tasks = [self.rng.choice(pausing if pausing and self.rng.random() < 0.5 else tasks)]
        for _ in range(self.rng.choice((1, 1, 2))):
            self._ask(job, "restart", attempts=runs(tasks), one_by_one=one_by_one)
        self.w.log(f"  restart {tasks} of job {job}")

    def _pausing(self, job: int) -> list[tuple[int, int]]:
        """Tasks of a service's one group that may pause since they failed, with their last attempts."""
        rows = self.w.rows.tasks.get(job, {})
        return [(task, last) for (_, task), (state, last, failures, *_) in rows.items() if failures and not state]

    def update(self) -> None:
        """Somebody wants a service to run something else, or what it ran before; perhaps knowing an old revision."""
        jobs = [job for job in self.w.live_jobs() if self._serves(job)]
        if not jobs:
            return
        job = self.rng.choice(jobs)
        row = self.w.rows.jobs[job]
        said, spec = row["services"] or {}, deepcopy(row["spec"])
        revision, back = said.get("revision", 1), None
        if row["revisions"] and self.rng.random() < 0.3:
            chosen = row["revisions"][-2]
            back, spec = chosen["revision"], deepcopy(chosen["spec"])
        else:
            spec["groups"][0]["command"] = [f"v{self.rng.randrange(4)}"]
            if self.rng.random() < 0.5:
                spec["groups"][0]["resources"]["memory_mib"] = self.rng.choice((512, 1024, 2048))
        surge = self.rng.choice((0, 0, 1, 2))
        rules = {
            "max_unavailable": self.rng.randrange(1 - bool(surge), 4), "max_surge": surge,
            "min_ready_s": self.rng.choice((0.0, 1.0)),
            "deadline_s": self.rng.choice((0.0, 4.0, 60.0)), "max_failures": self.rng.randrange(3),
        }  # fmt: skip
        revision -= self.rng.random() < 0.1
        for _ in range(self.rng.choice((1, 1, 2))):
            asked = {"revision": revision, "spec": spec, "size": 1, "rules": rules, "back": back}
            self.w.rows.add_intent(row["home_id"], "update", job, by="somebody", **asked)
        self.w.log(f"  update job {job} of {revision} to {spec['groups'][0]['command']}, back {back}")

    def _ask(self, job: int, kind: str, **asked: Any) -> None:
        """Of a service's one group."""
        self.w.rows.add_intent(self.w.rows.jobs[job]["home_id"], kind, job, group=0, by="somebody", **asked)

    def policy(self) -> None:
        self.w.rows.publish(setting.policy(self.rng))

    def drain(self) -> None:
        """A node is to be emptied, or works again."""
        node = self._node()
        sub = self.w.machines[node].sub
        row = self.w.rows.subs[sub].nodes[node]
        row["duty"] = "draining" if row["duty"] == "in_service" else "in_service"
        soon = self.w.clock.now_us() + self.rng.choice((0, 3_000_000))
        row["duty_deadline_us"] = soon if row["duty"] == "draining" else None
        self.w.rows.add_intent(sub, "node", node=node, duty=row["duty"])

    def retire(self) -> None:
        """Operators take a node out for good; perhaps its leader is gone before it hears of that."""
        node = self._node()
        sub = self.w.machines[node].sub
        self.w.retire(node)
        if self.rng.random() < 0.3:
            self._lose_leader(sub)

    # What befalls Redis and the network

    def flush(self) -> None:
        self.w.redis[self._sub()].flush()

    def redis_down(self) -> None:
        redis = self.w.redis[self._sub()]
        redis.down = not redis.down

    def fill_redis(self) -> None:
        """It refuses what takes room, or has room again."""
        redis = self.w.redis[self._sub()]
        redis.full = not redis.full

    def drop_status(self) -> None:
        for redis in self.w.redis.values():
            if redis.in_flight:
                del redis.in_flight[self.rng.randrange(len(redis.in_flight))]

    def duplicate_status(self) -> None:
        for redis in self.w.redis.values():
            if redis.in_flight:
                flight = self.rng.choice(redis.in_flight)
                self.w.deliver(redis, flight)

    def old_document(self) -> None:
        """A node reads a document once more that was replaced."""
        node = self._node()
        old = self.w.redis[self.w.machines[node].sub].old.get(node)
        if old and (agent := self.w.agents.get(node)) is not None:
            agent.read(self.rng.choice(old))

    def corrupt(self) -> None:
        """A byte of a status, or of a document that Redis holds, is another one."""
        node = self._node()
        redis, agent = self.w.redis[self.w.machines[node].sub], self.w.agents.get(node)
        published = agent.publish() if agent is not None and self.rng.random() < 0.6 else None
        if published is not None:
            redis.deliver(InFlightStatus(node, self._corrupted(published[0], status.HEADER.size), hint=True))
            return
        agents = self.w.agents
        unread = [at for at, body in redis.documents.items() if at in agents and agents[at].last_document != body]
        if found := unread or list(redis.documents):
            node = self.rng.choice(found)
            redis.documents[node] = self._corrupted(redis.documents[node], 0)

    def _corrupted(self, data: bytes, first: int) -> bytes:
        """Another bit, of the bytes from ``first`` on where there are any."""
        found = bytearray(data)
        at = self.rng.randrange(first if first < len(found) else 0, len(found))
        found[at] ^= 1 << self.rng.randrange(8)
        return bytes(found)

    def misreport(self) -> None:
        """A node speaks of containers that are not its own."""
        node = self._node()
        agent, sub = self.w.agents.get(node), self.w.machines[node].sub
        others = [cid for cid, row in self.w.rows.subs[sub].containers.items() if row.node != node]
        if agent is None or not others or not agent.listed or agent.machine.cut:
            return
        agent.seq += 1
        reported = agent.core.status(agent.seq)
        state = self.rng.choice((ContainerState.SUCCEEDED, ContainerState.FAILED, ContainerState.RUNNING))
        reported.containers.append(ContainerReport(self.rng.choice(others), state))
        reported.containers.append(ContainerReport(7, ContainerState.RUNNING))
        if agent.persist:
            agent.save()
        self.w.redis[sub].deliver(InFlightStatus(node, status.encode(reported), hint=True))

    # What befalls nodes

    def crash_agent(self) -> None:
        self.w.stop_agent(self._node())

    def lose_disk(self) -> None:
        """The agent's file is damaged when it starts again."""
        node = self._node()
        self.w.stop_agent(node)
        self.w.machines[node].disk = None

    def reboot(self) -> None:
        node = self._node()
        self.w.stop_agent(node)
        self.w.machines[node].reboot(self.w.clock.now)

    def replace(self) -> None:
        node = self._node()
        self.w.stop_agent(node)
        self.w.machines[node].replace(self.w.clock.now)

    def cut_network(self) -> None:
        machine = self.w.machines[self._node()]
        machine.cut = not machine.cut

    def signal(self) -> None:
        """Somebody on the machine kills a process."""
        if found := self.w.processes():
            machine, process = self.rng.choice(found)
            self.w.end(machine, process, signal=KILL)

    def fail_localization(self) -> None:
        self.w.localize_failure_rate = 0.0 if self.w.localize_failure_rate else 0.3

    def stall(self) -> None:
        """Some nodes are not heard for long, and some leaders stand still, while all others go on."""
        silent = {node for node in self.w.machines if self.rng.random() < 0.4}
        stalled = {sub for sub in self.w.redis if self.rng.random() < 0.3}
        for _ in range(self.rng.choice((3, 5, 8, 14))):
            self.w.advance(0.9)
            for node in self.w.machines:
                if node not in silent:
                    self._turn_of(node)
            for sub in self.w.redis:
                if sub not in stalled:
                    self.w.lead(sub)

    # The end

    def heal(self) -> None:
        """No more faults: everything is there, and can be reached."""
        w = self.w
        w.localize_failure_rate, w.oracle.calm = 0.0, True
        for redis in w.redis.values():
            redis.down = redis.full = False
            redis.in_flight.clear()
        for node, machine in w.machines.items():
            machine.cut = False
            if node not in w.agents:
                w.boot(node)
            row = w.rows.subs[machine.sub].nodes[node]
            if row["duty"] != "in_service":
                row["duty"], row["duty_deadline_us"] = "in_service", None
                w.rows.add_intent(machine.sub, "node", node=node, duty="in_service")
        for zombie in list(w.zombies):
            zombie.loop.memory.placeable = True
            w.turn(zombie)
        w.zombies.clear()
        if w.setting.strays:  # where a policy keeps tasks at home, some of what came back may never start
            w.rows.publish(setting.policy(self.rng, "locality"))
        for job in w.live_jobs():
            if self._serves(job):
                self._kill(job)

    def calm_round(self) -> None:
        w = self.w
        w.advance(1.0)
        for sub in w.redis:
            w.lead(sub)
        for node in w.machines:
            self._turn_of(node)
        for machine, process in w.processes():
            w.end(machine, process, self.w.code(process))
        for node in w.machines:
            self._turn_of(node)
