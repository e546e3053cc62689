"""Control groups, version 1 or 2, where this process may make them.

``find`` answers with what works here after trying it; nothing is assumed from
mount options. Each container gets its own group under ``hydra-<name>``.
"""

import os
from dataclasses import dataclass, field

V1_CONTROLLERS = ("memory", "cpu", "pids")
PIDS_MAX = 4096
QUOTA_PERIOD_US = 100_000
QUOTA_LEAST_US = 1000  # the kernel takes no less
LEAF = "agent"  # of a version 2 group that hands its controllers down: where the processes are that were in it
DELEGATED = ("trusted.delegate", "user.delegate")  # systemd marks with these what it leaves to a unit
MAX_MOVES = 10  # of processes that fork while they are moved


def _write(path: str, value: str) -> bool:
    try:
        with open(path, "w") as file:
            file.write(value)
    except OSError:
        return False
    return True


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _own_paths() -> dict[str, str]:
    """Controller -> path of this process in its hierarchy; "" is version 2."""
    paths = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            paths[name] = path
    return paths


def _mounts() -> tuple[dict[str, str], str]:
    """Mount points of the version 1 controllers, and of version 2 ("" when there is none)."""
    v1: dict[str, str] = {}
    v2 = ""
    for line in _read("/proc/self/mounts").splitlines():
        _, point, kind, options, *_ = line.split()
        if kind == "cgroup2":
            v2 = v2 or point
        elif kind == "cgroup":
            v1.update({o: point for o in options.split(",") if o in V1_CONTROLLERS})
    return v1, v2


@dataclass(slots=True)
class Cgroups:
    """Where groups can be made: controller -> parent folder (the same one for all under version 2).

    ``cpu_quota``: processors are limited to what was asked for; else that is a weight, and idle ones may be used.
    """

    parents: dict[str, str] = field(default_factory=dict)
    v2: bool = False
    cpu_quota: bool = False

    @property
    def controllers(self) -> set[str]:
        """Those that enforce something here; empty where no group can be made."""
        return set(self.parents)

    def folders(self, cid: int) -> list[str]:
        """Every group of the container: one per controller under version 1, one in all under version 2."""
        return sorted({os.path.join(parent, f"c{cid}") for parent in self.parents.values()})

    def create(self, cid: int, memory_bytes: int, cpu_milli: int) -> list[str]:
        """Make and limit the container's groups; returns the files its first process joins through."""
        for controller, parent in self.parents.items():
            folder = os.path.join(parent, f"c{cid}")
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError:
                continue
            self._limit(controller, folder, memory_bytes, cpu_milli)
        return self.joins(cid)

    def joins(self, cid: int) -> list[str]:
        """The files through which a process of one thread joins those of the container's groups that there are."""
        # A single thread joins its own group without the lock that stops every fork and exec for milliseconds.
        # Version 2 has no such file.
        name = "cgroup.procs" if self.v2 else "tasks"
        return [os.path.join(folder, name) for folder in self.folders(cid) if os.path.isdir(folder)]

    def _limit(self, controller: str, folder: str, memory_bytes: int, cpu_milli: int) -> None:
        def at(name: str) -> str:
            return os.path.join(folder, name)

        if controller == "memory" and memory_bytes:
            if self.v2:
                _write(at("memory.max"), str(memory_bytes))
                _write(at("memory.swap.max"), "0")
                _write(at("memory.oom.group"), "1")
            else:
                _write(at("memory.limit_in_bytes"), str(memory_bytes))
                _write(at("memory.memsw.limit_in_bytes"), str(memory_bytes))  # absent without swap accounting
        elif controller == "cpu" and cpu_milli:
            if self.v2:
                _write(at("cpu.weight"), str(max(1, min(10_000, cpu_milli // 10))))
            else:
                _write(at("cpu.shares"), str(max(2, cpu_milli * 1024 // 1000)))
            if self.cpu_quota:
                quota_us = max(QUOTA_LEAST_US, cpu_milli * QUOTA_PERIOD_US // 1000)
                if self.v2:
                    _write(at("cpu.max"), f"{quota_us} {QUOTA_PERIOD_US}")
                else:
                    _write(at("cpu.cfs_quota_us"), str(quota_us))
                    _write(at("cpu.cfs_period_us"), str(QUOTA_PERIOD_US))
        elif controller == "pids":
            _write(at("pids.max"), str(PIDS_MAX))

    def pids(self, cid: int) -> set[int]:
        """Processes in the container's group; all its groups have the same ones."""
        folders = self.folders(cid)
        return {int(p) for p in _read(os.path.join(folders[0], "cgroup.procs")).split()} if folders else set()

    def memory_mib(self, cid: int) -> int | None:
        """Anonymous memory in use; None without the controller."""
        if "memory" not in self.parents:
            return None
        folder = os.path.join(self.parents["memory"], f"c{cid}")
        wanted = ("anon", "shmem") if self.v2 else ("total_rss", "total_shmem", "rss")
        values = dict(line.split() for line in _read(os.path.join(folder, "memory.stat")).splitlines())
        if not values:
            return None
        if self.v2:
            total = sum(int(values.get(name, 0)) for name in wanted)
        else:
            total = int(values.get("total_rss", values.get("rss", 0))) + int(values.get("total_shmem", 0))
        return total >> 20

    def over_memory(self, cid: int) -> bool:
        """Whether the kernel killed a process of it for memory."""
        if "memory" not in self.parents:
            return False
        folder = os.path.join(self.parents["memory"], f"c{cid}")
        text = _read(os.path.join(folder, "memory.events" if self.v2 else "memory.oom_control"))
        return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in text.splitlines())

    def kill(self, cid: int) -> None:
        """Version 2 kills a whole group at once; version 1 is killed by its process list."""
        if self.v2:
            for folder in self.folders(cid):
                _write(os.path.join(folder, "cgroup.kill"), "1")

    def remove(self, cid: int) -> None:
        """Delete the groups of a container without processes; one that is still in use stays, and costs nothing."""
        _remove(self.folders(cid))

    def close(self) -> None:
        """Remove the parents, too, once nothing is in them."""
        _remove(sorted(set(self.parents.values())))


def _remove(folders: list[str]) -> None:
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            pass  # in use, or gone: an empty group costs nothing


def _try_parent(parent: str, probe_file: str) -> bool:
    """Whether a group with ``probe_file`` can be made below ``parent``."""
    probe = os.path.join(parent, f"probe-{os.getpid()}")
    try:
        os.makedirs(probe, exist_ok=True)
    except OSError:
        return False
    works = os.access(os.path.join(probe, probe_file), os.W_OK) and os.access(
        os.path.join(probe, "cgroup.procs"), os.W_OK
    )
    _remove([probe])
    return works


def find(name: str) -> Cgroups:
    """What can be used here, tried out. Empty when nothing can."""
    mounts, v2_mount = _mounts()
    own = _own_paths()
    groups = Cgroups()
    for controller, point in mounts.items():
        parent = os.path.join(point, own.get(controller, "/").lstrip("/"), f"hydra-{name}")
        probe = {"memory": "memory.limit_in_bytes", "cpu": "cpu.shares", "pids": "pids.max"}[controller]
        if _try_parent(parent, probe):
            if controller == "memory":
                _write(os.path.join(parent, "memory.use_hierarchy"), "1")
            groups.parents[controller] = parent
    if groups.parents or not v2_mount:
        return groups
    return _find_v2(name)


def _find_v2(name: str) -> Cgroups:
    base = base_v2()
    usable = delegate(base, f"hydra-{name}", set(V1_CONTROLLERS))
    parent = os.path.join(base, f"hydra-{name}")
    if not usable or not _try_parent(parent, "cgroup.procs"):
        _remove([parent])
        return Cgroups()
    return Cgroups(dict.fromkeys(usable, parent), v2=True)


def base_v2() -> str:
    """Where containers' groups are made under version 2, "" without it.

    It is our own group, or, where that is the leaf that an agent moves to, the one above.
    """
    mount = _mounts()[1]
    if not mount:
        return ""
    own = os.path.join(mount, _own_paths().get("", "/").lstrip("/")).rstrip("/")
    above = os.path.dirname(own)
    return above if os.path.basename(own) == LEAF and _is_ours(above) else own


def _is_ours(folder: str) -> bool:
    """Whether all that runs in the group is ours to move.

    So it is at the root of a control group namespace, which is a container's, in what systemd has delegated, and in a
    group that was given to a user who is not root. A session of somebody's who has started an agent is not.
    """
    if not os.path.exists(os.path.join(folder, "cgroup.type")):
        return False  # the machine's own root, where controllers can be enabled beside processes
    try:
        status = os.stat(folder)
        delegated = any(os.getxattr(folder, x) == b"1" for x in os.listxattr(folder) if x in DELEGATED)
    except OSError:
        return False
    return delegated or os.path.ismount(folder) or 0 != os.geteuid() == status.st_uid


def delegate(base: str, child: str, wanted: set[str]) -> set[str]:
    """Make the group ``child`` in ``base``, a version 2 group, and enable controllers for the groups in it.

    A group that hands controllers down may hold no processes itself, so those of ``base``, the agent's own among them,
    go into a leaf group beside it first, where they are ours to move. Returns which of ``wanted`` work in ``child``'s
    groups.
    """
    available = set(_read(os.path.join(base, "cgroup.controllers")).split()) & wanted
    parent = os.path.join(base, child)
    try:
        os.makedirs(parent, exist_ok=True)
    except OSError:
        return set()
    missing = available - set(_read(os.path.join(base, "cgroup.subtree_control")).split())
    if missing and _is_ours(base):
        _vacate(base)
    for controller in sorted(available):
        _write(os.path.join(base, "cgroup.subtree_control"), f"+{controller}")
        _write(os.path.join(parent, "cgroup.subtree_control"), f"+{controller}")
    return set(_read(os.path.join(parent, "cgroup.subtree_control")).split()) & wanted


def _vacate(base: str) -> None:
    """Move every process of the group into its leaf; what is forked meanwhile needs another look."""
    leaf = os.path.join(base, LEAF)
    try:
        os.makedirs(leaf, exist_ok=True)
    except OSError:
        return
    for _ in range(MAX_MOVES):
        pids = _read(os.path.join(base, "cgroup.procs")).split()
        for pid in pids:
            _write(os.path.join(leaf, "cgroup.procs"), pid)
        if not pids:
            return
