"""One leader and its hollow nodes in one process, both on a clock that is moved on, over a stack's stores."""

import argparse
import cProfile
import time
from collections.abc import Callable
from typing import Any

import psutil
from django.conf import settings

from benchmarks.decisions import FULL, NODE_CORES
from benchmarks.stack import cpu_s
from controlplane import heap, kernels
from controlplane.embedded.management.commands.hollow import register
from controlplane.rm.adapters.bus import RedisBus
from controlplane.rm.adapters.clock import DatabaseClock
from controlplane.rm.adapters.store import PostgresStore
from controlplane.rm.driver.leader import Leader, Pace
from controlplane.rm.driver.liveness import AnsweredClock
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.driver.round import Round, RoundSettings
from controlplane.rm.steps.publish import Signer
from controlplane.statestore.actions.nodes import lease_master
from controlplane.statestore.membership import take
from controlplane.statestore.models import SubCluster
from simulator.hollow import HollowNodes

LEASE_S = 3600.0
CALM_S = 6.0  # of the moved clock, between full nodes and the measurement: nothing of the rush is left
LOG_MAX_BYTES = 1 << 20


class MovedClock(DatabaseClock):
    """Stands until it is moved on, but for what this process computes meanwhile: what takes long is done less often."""

    def __init__(self, now_us: int):
        self._us, self._began, self._ahead_s, self._cpu_s = now_us, time.monotonic(), 0.0, time.process_time()

    def move(self, seconds: float) -> None:
        self._ahead_s, self._cpu_s = self._ahead_s + seconds, time.process_time()

    @property
    def moved_s(self) -> float:
        """By how much it was moved in all."""
        return self._ahead_s

    def now_us(self) -> int:
        return self._us + round(self._ahead_s * 1e6)

    def monotonic(self) -> float:
        return self.stands() + time.process_time() - self._cpu_s

    def stands(self) -> float:
        """Monotonic, without what was computed: for nodes, which are the same in each run."""
        return self._began + self._ahead_s


class Driven:
    """The leader of the stack's sub-cluster, which nobody else leads, and its nodes.

    spent: processor seconds by who used them. profile: of the leader.
    """

    def __init__(self, options: argparse.Namespace):
        self.options = options
        sub = SubCluster.objects.get()
        leadership = take(sub.pk, "driven", LEASE_S)
        if leadership is None:
            raise SystemExit(f"bench rounds: {sub.name} is led by somebody else")
        store = PostgresStore(leadership, LEASE_S)
        self.clock = MovedClock(store.now_us())
        self.played = self._nodes(sub)
        memory = rebuild(store, LOG_MAX_BYTES, 0.0)
        bus = RedisBus(settings.REDIS_URL, sub.pk, leadership.epoch, lambda: None)
        signer = Signer(lease_master(), settings.HYDRA["lease_key_id"])
        rounds = Round(sub.pk, memory, store, bus, self.clock, signer, RoundSettings(LOG_MAX_BYTES, LEASE_S))
        pace = Pace(heartbeat_s=options.heartbeat_s, interval_s=options.round_s, renew_s=LEASE_S / 4)
        self.leader = Leader(
            rounds, memory, store, bus, self.clock, "driven", pace, lambda jobs: None, AnsweredClock()
        )  # fmt: skip
        self.spent = {"RM": 0.0, "hollow nodes": 0.0}
        self.profile = _profile() if options.profile else None
        self._ticks = self.played.ticks(options.heartbeat_s, options.tick_s)
        self._metered("RM", self.leader.begin)

    def _nodes(self, sub: SubCluster) -> HollowNodes:
        shape = {"nodes": self.options.nodes, "memory_mib": 2048 * NODE_CORES, "vcores_milli": 1000 * NODE_CORES}
        lease_keys = register(sub, shape | {"gpus": 0})
        early = int(FULL * self.options.nodes * NODE_CORES)
        played = HollowNodes(settings.REDIS_URL, sub.pk, lease_keys, self.options.run_s, spread_first=early)
        played.monotonic = self.clock.stands
        return played

    def _metered(self, name: str, call: Callable[[], object]) -> None:
        began = time.process_time()
        call()
        self.spent[name] += time.process_time() - began

    def play(self, seconds: float) -> None:
        """Move on by so much, which is a number of rounds."""
        for _ in range(round(seconds / self.options.round_s)):
            for _ in range(round(self.options.round_s / self.options.tick_s)):
                self.clock.move(self.options.tick_s)
                self._metered("hollow nodes", lambda: next(self._ticks))
            self._metered("RM", self._turn)

    def _turn(self) -> None:
        if self.profile is not None:
            self.profile.enable()
        self.leader.turn(self.leader.bus.wait(0.001))
        if self.profile is not None:
            self.profile.disable()

    def fill(self) -> None:
        """Until the queue holds what it may, and the rush is over."""
        full = 0.995 * FULL * self.options.nodes * NODE_CORES
        while (held := len(self.leader.memory.containers)) < full:
            if self.clock.moved_s > self.options.filled_s:
                late = f"{held} of {full:.0f} containers after {self.options.filled_s:.0f} s"
                raise SystemExit(f"bench rounds: {late}")
            self.play(self.options.round_s)
        self.play(CALM_S)


def measure(options: argparse.Namespace, stores: dict[str, int]) -> dict[str, Any]:
    """stores: the first process of each."""
    heap.relax()
    kernels.load()
    driven = Driven(options)
    driven.fill()
    heap.settle()
    counters, tally = driven.leader.counters, driven.played.tally
    before = [counters.rounds, counters.placed, counters.ended, tally.statuses, tally.documents]
    found = {name: _with_children(pid) for name, pid in stores.items()}
    spent = {name: cpu_s(processes) for name, processes in found.items()} | driven.spent
    if options.profile:
        driven.profile = _profile()
    driven.play(options.seconds)
    used = {name: cpu_s(processes) for name, processes in found.items()} | driven.spent
    after = [counters.rounds, counters.placed, counters.ended, tally.statuses, tally.documents]
    rounds, placed, ended, statuses, documents = (b - a for a, b in zip(before, after, strict=True))
    if driven.profile is not None:
        driven.profile.dump_stats(options.profile)
    per_decision = {name: round(1e6 * (used[name] - spent[name]) / (placed + ended), 2) for name in used}
    return {
        "rounds": rounds,
        "allocations_per_round": round(placed / rounds),
        "ends_per_round": round(ended / rounds),
        "statuses_per_round": round(statuses / rounds),
        "documents_per_round": round(documents / rounds),
        "cpu_us_per_decision_without_nodes": round(sum(v for k, v in per_decision.items() if k != "hollow nodes"), 1),
        "cpu_us_per_decision": per_decision,
    }


def _with_children(pid: int) -> list[psutil.Process]:
    first = psutil.Process(pid)
    return [first, *first.children(recursive=True)]


def _profile() -> cProfile.Profile:
    """Of processor time, not of waiting for stores."""
    return cProfile.Profile(time.process_time)
