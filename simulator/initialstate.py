"""What runs already when a simulation begins: rows as leaders before it would have left them, and what nodes hold."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from scheduler.lifecycle.guest import UNLOWERED, pack
from simulator.clock import VirtualClock
from simulator.rows import Ask, Federation, LiveContainer
from simulator.site import Site
from simulator.workload import RunningContainers, RunningJob
from wire.ids import container_id
from wire.states import ContainerState, JobState


class InitialState:
    """``add_job`` before leaders begin; then ``start_containers`` puts their containers on nodes."""

    def __init__(self, rows: Federation, clock: VirtualClock):
        self.rows, self.clock = rows, clock
        self._subs = {sub.name: sub for sub in rows.subs.values()}
        self._nodes = {sub.id: list(sub.nodes) for sub in rows.subs.values()}
        self._containers: defaultdict[int, list[tuple[np.ndarray, ...]]] = defaultdict(list)

    def add_job(self, job: int, s: RunningJob) -> None:
        """The job's row is there; it runs, and so do these containers of it."""
        row, now_us = self.rows.jobs[job], self.clock.now_us()
        row |= {"state": int(JobState.RUNNING), "admitted_us": now_us, "started_us": now_us}
        for each in s.running:
            sub = self._subs[each.sub]
            ids = np.array([container_id(sub.id, 0, self.rows.number()) for _ in each.task], np.int64)
            self._rows(job, each, ids)
            if sub.id != row["home_id"]:
                k = len(each.task)
                work = pack(each.task.astype(np.int32), np.ones(k, np.int16))
                self.rows.asks[job, each.group, sub.id] = Ask(0, k, k, UNLOWERED, work, halt=False, acknowledged=1)
            run_s = np.broadcast_to(s.job.groups[each.group].run_s, s.job.groups[each.group].count)[each.task]
            self._containers[sub.id].append((each.node, ids, -each.ran_s, np.maximum(run_s - each.ran_s, 0.0)))

    def _rows(self, job: int, r: RunningContainers, ids: np.ndarray) -> None:
        own = self._subs[r.sub]
        nodes = self._nodes[own.id]
        columns = (ids.tolist(), r.node.tolist(), r.task.tolist(), r.gpus.tolist(), r.ran_s.tolist())
        for cid, node, task, gpus, ran_s in zip(*columns, strict=True):
            began = self.clock.to_us(-ran_s)
            state = int(ContainerState.RUNNING)
            own.containers[cid] = LiveContainer(cid, nodes[node], job, r.group, task, 1, state, gpus, began, began)

    def start_containers(self, sites: Mapping[int, Site]) -> None:
        """The nodes run them for what is left of their time."""
        for sub, parts in self._containers.items():
            sites[sub].nodes.containers.resume(*(np.concatenate(column) for column in zip(*parts, strict=True)))
