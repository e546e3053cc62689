"""The folders of the node and of each container, and who may enter them.

``<dir>/run`` and ``state.json`` are the agent's alone. A container's folder
can be passed through but not listed; ``work`` and ``tmp`` belong to the
tenant's user, ``logs`` to the agent.
"""

import hashlib
import os
import stat
from pathlib import Path

from nodemanager.paths import remove_tree

PASSABLE = 0o711  # whoever knows a name below may reach it; nobody may list
FALLBACK = Path("/var/tmp")  # noqa: S108 (a folder of root's own is made in it and checked)


def prepare(root: Path, separates_users: bool) -> Path:
    """Make the node's folders; returns the one for containers. Raises OSError.

    When tasks run as other users and one of the folders above is closed to
    them, containers live below /var/tmp instead, in a folder only root may change.
    """
    root.mkdir(mode=0o711, parents=True, exist_ok=True)
    (root / "run").mkdir(mode=0o700, exist_ok=True)
    containers = root / "containers"
    if separates_users:
        os.chmod(root, PASSABLE)
        if not all(_passable(folder) for folder in (root, *root.parents)):
            home = FALLBACK / f"hydra-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"
            home.mkdir(mode=0o711, exist_ok=True)
            info = home.lstat()
            if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
                raise PermissionError(f"{home} is not a folder of root's alone; remove it")
            os.chmod(home, PASSABLE)
            containers = home / "containers"
    containers.mkdir(mode=0o700, exist_ok=True)
    if separates_users:
        os.chmod(containers, PASSABLE)  # whatever the umask: tasks open their files by absolute paths too
    return containers


def clean_up(root: Path, containers: Path) -> None:
    """Remove the containers' folder outside the node's own when nothing is left in it."""
    if containers.parent != root:
        try:
            containers.rmdir()
            containers.parent.rmdir()
        except OSError:
            pass  # containers not yet acknowledged: the next agent finds them


def _passable(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def make(folder: Path, uid: int) -> None:
    """A fresh folder for one container; what an interrupted attempt left is removed. Raises OSError."""
    remove_tree(str(folder))
    os.mkdir(folder, 0o700)
    if uid >= 0:
        os.chmod(folder, PASSABLE)
    for name, owner in (("work", uid), ("tmp", uid), ("logs", -1)):
        path = folder / name
        os.mkdir(path, 0o700)
        if owner >= 0:
            os.chown(path, owner, owner)
