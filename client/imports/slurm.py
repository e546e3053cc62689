"""A SLURM batch script as a job of one group.

As under SLURM the script runs once, or once for each index of its array, with
all the cores that its tasks have together; ``srun`` in it starts the tasks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePath
from typing import Any, TypeVar

from client.imports import slurmscript, units
from client.imports.report import MAX_TIMEOUT_S, Converted, Remarks, finished, job_name
from client.imports.slurmoptions import Option, options

T = TypeVar("T")
SOURCE = "a batch script"
_DIRECTIVE = re.compile(r"^#SBATCH(\s|$)", re.MULTILINE)
_PLAIN_NAMES = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]*(,[A-Za-z0-9][-A-Za-z0-9_.]*)*")
_FEATURES = re.compile(r"[A-Za-z0-9_.-]+([&|][A-Za-z0-9_.-]+)*")
_PARTITION = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def looks_like(text: str) -> bool:
    """Whether it is a script: with ``#SBATCH`` lines, or begun by the ``#!`` of a known interpreter."""
    return bool(_DIRECTIVE.search(text)) or slurmscript.known(slurmscript.program(slurmscript.interpreter(text)))


def convert(text: str, name: str) -> Converted:
    """The job; ``InvalidJob`` with the lines that are wrong. ``name``: the script's file."""
    remarks = Remarks()
    _readable(text, remarks)
    reader = _Reader(options(text, remarks), remarks, text)
    group = reader.group(PurePath(name).name)
    called = reader.take("job-name")
    spec: dict[str, Any] = {"name": job_name(called.value if called else PurePath(name).stem)}
    if called:
        remarks.taken(called.line, called.text, f"name: {spec['name']}", "name")
    spec["groups"] = [group]
    remarks.noted(0, "its folder", "a work folder of its own, removed after the end: keep files by `outputs`")
    slurmscript.look_through(text, reader.ntasks, set(group["env"]) | reader.array_variables, remarks)
    return finished(SOURCE, spec, remarks)


def _readable(text: str, remarks: Remarks) -> None:
    words = slurmscript.interpreter(text)
    name = slurmscript.program(words)
    if not words:
        remarks.error(1, "a batch script begins with #! and its interpreter", "write #!/bin/sh or #!/bin/bash there")
    elif "\r\n" in text:
        remarks.error(1, "the lines end as DOS ends them, which shells cannot read", "convert it with dos2unix")
    elif not slurmscript.known(name):
        remarks.error(
            1, f"scripts of {name or words[0]} cannot be taken over", "bring it among the files of a job file"
        )


@dataclass(slots=True)
class _Reader:
    """The options of a script, each taken once, and what it makes of them."""

    said: dict[str, Option]
    remarks: Remarks
    script: str
    ntasks: int = 1
    nodes: int = 1
    array_variables: set[str] = field(default_factory=set)

    def take(self, name: str) -> Option | None:
        return self.said.pop(name, None)

    def read(self, name: str, reading: Callable[[str], T], otherwise: T) -> tuple[T, Option | None]:
        """An option's value; where it is wrong, that is remarked as an error of its line."""
        option = self.take(name)
        if option is None:
            return otherwise, None
        try:
            return reading(option.value), option
        except ValueError as error:
            self.remarks.error(option.line, f"--{name}: {error}")
            return otherwise, None

    def taken(self, option: Option | None, became: str, of: str = "") -> None:
        """``of``: the field of the group."""
        if option:
            self.remarks.taken(option.line, option.text, became, of and f"groups.0.{of}")

    def lost(self, option: Option | None, why: str) -> None:
        if option:
            self.remarks.lost(option.line, option.text, why)

    def group(self, name: str) -> dict[str, Any]:
        """The group whose tasks run the script."""
        group: dict[str, Any] = {"name": "script"}
        cpus = self._tasks()
        gpus = self._gpus()
        resources = {"memory_mib": self._memory(cpus, gpus), "vcores_milli": cpus * 1000, "gpus": gpus}
        indices = self._array(group)
        group["command"] = []
        group["resources"] = {axis: amount for axis, amount in resources.items() if amount}
        group["env"] = self._env(name, resources, cpus, indices)
        self._time(group)
        self._where(group)
        chdir = self.take("chdir")
        self.taken(chdir, "it runs there, where its node has that folder")
        comment = self.take("comment")
        if comment:
            self.remarks.noted(comment.line, comment.text, "Hydra keeps tags, in words: tags")
        made = slurmscript.exports(indices, self.script)
        group["command"] = slurmscript.command(self.script, name, made, chdir.value if chdir else "")
        return group

    def _tasks(self) -> int:
        """How many cores all tasks have together."""
        self.nodes, of_nodes = self.read("nodes", _nodes, 1)
        each, per_node = self.read("ntasks-per-node", _number, 1)
        self.ntasks, tasks = self.read("ntasks", _number, each * self.nodes)
        cpus, per_task = self.read("cpus-per-task", _number, 1)
        whole = f"vcores_milli: {self.ntasks * cpus * 1000}, of one container"
        for option in (tasks, per_node, per_task):
            self.taken(option, whole, "resources.vcores_milli")
        if self.nodes > 1:
            self.lost(of_nodes, "a container is on one node, and gets what all nodes together would have")
        else:
            self.taken(of_nodes, "a container is on one node")
        return self.ntasks * cpus

    def _gpus(self) -> int:
        most, nothing = 0, (0, list[str](), list[str]())
        of_nodes = [("gres", self.nodes), ("gpus-per-node", self.nodes)]
        for name, times in (*of_nodes, ("gpus", 1), ("gpus-per-task", self.ntasks)):
            (count, kinds, others), option = self.read(name, _gres if name == "gres" else _gpu_list, nothing)
            most = max(most, count * times)
            if count:
                self.taken(option, f"gpus: {count * times}", "resources.gpus")
            for kind in kinds:
                self.lost(option, f"any GPU would do, not {kind} alone: say a label of such nodes in node_labels")
            for other in others:
                self.lost(option, f"Hydra has no resource {other}")
        return most

    def _memory(self, cpus: int, gpus: int) -> int:
        """MiB of the container; 0 where the script does not say."""
        found = Decimal(0)
        for name, times in (("mem", self.nodes), ("mem-per-cpu", cpus), ("mem-per-gpu", gpus)):
            each, option = self.read(name, units.slurm_mib, Decimal(0))
            if option and not each:
                self.lost(option, "all memory of a node cannot be asked for: say how much it needs")
            elif option and not times:
                self.remarks.error(option.line, f"--{name} is said, and no GPU asked for", "add --gpus")
            elif option:
                found = max(found, each * times)
                self.taken(option, f"memory_mib: {units.whole_up(each * times)}", "resources.memory_mib")
        if not found:
            self.remarks.noted(0, "no --mem", "memory_mib: 256, Hydra's default; more of it stops the task")
        return units.whole_up(found)

    def _array(self, group: dict[str, Any]) -> list[int] | None:
        nothing: tuple[list[int] | None, int | None] = (None, None)
        (indices, most), option = self.read("array", units.array_indices, nothing)
        if indices is None:
            return None
        group["count"] = len(indices)
        self.array_variables = {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"}
        self.taken(option, f"count: {len(indices)}; SLURM_ARRAY_TASK_ID is set", "count")
        if most and most < len(indices):
            self.lost(option, f"as many run at once as have room, not {most} at most")
        return indices

    def _env(self, name: str, resources: dict[str, int], cpus: int, indices: Sequence[int] | None) -> dict[str, str]:
        called, partition = self.said.get("job-name"), self.said.get("partition")
        env: dict[str, int | str] = {
            "SLURM_JOB_NAME": called.value if called else name,
            "SLURM_NTASKS": self.ntasks, "SLURM_CPUS_PER_TASK": cpus // self.ntasks, "SLURM_CPUS_ON_NODE": cpus,
            "SLURM_JOB_NUM_NODES": 1, "SLURM_NNODES": 1, "SLURM_NODEID": 0, "SLURM_PROCID": 0, "SLURM_LOCALID": 0,
        }  # fmt: skip
        if resources["memory_mib"]:
            env["SLURM_MEM_PER_NODE"] = resources["memory_mib"]
        if indices:
            env |= {
                "SLURM_ARRAY_TASK_COUNT": len(indices), "SLURM_ARRAY_TASK_MIN": indices[0],
                "SLURM_ARRAY_TASK_MAX": indices[-1], "SLURM_ARRAY_TASK_STEP": slurmscript.step_of(indices) or 1,
            }  # fmt: skip
        if partition:
            env["SLURM_JOB_PARTITION"] = partition.value
        return {name: str(value) for name, value in env.items()} | self._exported()

    def _exported(self) -> dict[str, str]:
        """What ``--export`` gives a value; a task has nothing of the environment it was submitted from."""
        option, found = self.take("export"), {}
        for word in option.value.split(",") if option else ():
            name, equals, value = word.partition("=")
            if equals:
                found[name] = value
                self.taken(option, f"env: {name}")
            elif option and word in ("ALL", "NONE", "NIL"):
                self.remarks.noted(option.line, option.text, "its environment is made anew, with nothing of yours")
            else:
                self.lost(option, f"{word} has no value here: write {word}=VALUE")
        return found

    def _time(self, group: dict[str, Any]) -> None:
        time_s, option = self.read("time", units.slurm_seconds, 0)
        if option and time_s > MAX_TIMEOUT_S:
            self.remarks.noted(option.line, option.text, "no limit, for Hydra's go up to 30 days")
        elif time_s:
            group["timeout_s"] = time_s
            self.taken(option, f"timeout_s: {time_s}", "timeout_s")
        elif option:
            self.taken(option, "no limit")

    def _where(self, group: dict[str, Any]) -> None:
        partition = self.take("partition")
        if partition and _PARTITION.fullmatch(partition.value):
            group["partition"] = partition.value
            self.taken(partition, f"partition: {partition.value}, where the operator has named nodes so", "partition")
        else:
            self.lost(partition, "not the name of one partition of Hydra: those of its queue are taken")
        labels = []
        features, excluded, wanted = self.take("constraint"), self.take("exclude"), self.take("nodelist")
        if features and _FEATURES.fullmatch(features.value):
            labels.append(features.value.replace("&", " && ").replace("|", " || "))
            self.taken(features, f"node_labels: {labels[0]}", "node_labels")
        else:
            self.lost(features, "only names with & or | between them are understood")
        if excluded and _PLAIN_NAMES.fullmatch(excluded.value):
            labels.append(f"!(node in ({excluded.value.replace(',', ', ')}))")
            self.taken(excluded, f"node_labels: {labels[-1]}", "node_labels")
        else:
            self.lost(excluded, "only names with commas between them are understood")
        if labels:
            group["node_labels"] = " && ".join(
                f"({each})" if "||" in each and len(labels) > 1 else each for each in labels
            )
        if wanted and _PLAIN_NAMES.fullmatch(wanted.value) and "," not in wanted.value:
            group["locality"] = {"nodes": [wanted.value], "relax": False}
            self.taken(wanted, "locality: that node alone", "locality")
        else:
            self.lost(wanted, "a container is on one node: name one")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) >= 1 and len(text) <= 9):
        raise ValueError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _nodes(text: str) -> int:
    """The fewest of ``2`` or ``2-4``."""
    fewest, dash, most = text.partition("-")
    if dash:
        _number(most)
    return _number(fewest)


def _gpu_list(text: str) -> tuple[int, list[str], list[str]]:
    return _gres(",".join(f"gpu:{part}" for part in text.split(",")))


def _gres(text: str) -> tuple[int, list[str], list[str]]:
    """GPUs, their kinds where some are named, and what else ``gpu:2,gpu:a100:1,licence:3`` asks for."""
    count, kinds, others = 0, [], []
    for part in text.split(",") if text != "none" else ():
        name, *rest = part.removeprefix("gres/").replace("=", ":").split(":")
        if name != "gpu":
            others.append(name)
            continue
        if len(rest) > 2 or (len(rest) == 2 and not rest[1].isdigit()):
            raise ValueError(f"{part!r} does not say how many GPUs: write it like gpu:2 or gpu:a100:2")
        kinds += [each for each in rest[:1] if not each.isdigit()]
        numbers = [each for each in rest if each.isdigit()]
        count += _number(numbers[0]) if numbers and numbers[0] != "0" else 0 if numbers else 1
    return count, kinds, others
