"""Control groups of version 2, the kernel's own: in what order a group is emptied and its controllers enabled."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import stretched, wait_until

ROOT = Path(__file__).resolve().parents[3]
# Whoever joins the group first starts another process in it, as an init does, and then does what agent and supervisor
# do one after the other.
AGENT = """
import os, subprocess, sys
from nodemanager import cgroups
group, controller = sys.argv[1:]
open(group + "/cgroup.procs", "w").write("0")
other = subprocess.Popen(["sleep", "600"])
for _ in range(2):
    print(sorted(cgroups.delegate(cgroups.base_v2(), "hydra-x", {controller})), flush=True)
sys.stdin.read()
other.kill()
"""


def hierarchy() -> tuple[Path, str] | None:
    """Where version 2 is mounted, and a controller that can be handed down there."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(point, os.W_OK):
            found = Path(point, "cgroup.controllers").read_text().split()
            return (Path(point), found[0]) if found else None
    return None


pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or hierarchy() is None, reason="needs root and a controller of control groups of version 2"
)


@pytest.fixture
def controller() -> Iterator[str]:
    """Handed down by the machine's own root for as long as the test takes."""
    mount, name = hierarchy() or (Path(), "")
    enabled = mount / "cgroup.subtree_control"
    before = enabled.read_text().split()
    enabled.write_text(f"+{name}")
    yield name
    if name not in before:
        enabled.write_text(f"-{name}")


@pytest.fixture
def group(controller: str) -> Iterator[Path]:
    """A group as a unit's or a container's."""
    mount, _ = hierarchy() or (Path(), "")
    made = mount / f"hydra-test-{os.getpid()}"
    made.mkdir()
    yield made
    (made / "cgroup.kill").write_text("1")
    wait_until(lambda: "populated 0" in (made / "cgroup.events").read_text(), 10, "all its processes end")
    for folder, _, _ in os.walk(made, topdown=False):
        Path(folder).rmdir()


def said(group: Path, controller: str, seen_as: Path, *prefix: str) -> tuple[list[str], list[str]]:
    """What an agent in the group could enable, twice, and the names of the groups its processes are in afterwards."""
    command = [*prefix, sys.executable, "-c", AGENT, str(seen_as), controller]
    agent = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert agent.stdin and agent.stdout
    lines = [agent.stdout.readline().strip() for _ in range(2)]
    where = [str(Path(f).relative_to(group)) for f, _, _ in os.walk(group) if (Path(f) / "cgroup.procs").read_text()]
    agent.stdin.close()
    agent.wait(stretched(10))
    return lines, where


def test_in_a_unit_with_delegation_processes_go_into_a_leaf_first(group: Path, controller: str) -> None:
    os.setxattr(group, "trusted.delegate", b"1")
    lines, where = said(group, controller, group)
    assert lines == [f"['{controller}']"] * 2 and where == ["agent"]
    assert controller in (group / "hydra-x" / "cgroup.subtree_control").read_text()


def test_in_a_container_that_has_a_hierarchy_of_its_own_too(group: Path, controller: str, tmp_path: Path) -> None:
    """Its namespace's root is no more than a group of the host's."""
    own = tmp_path / "cgroup"
    own.mkdir()
    enter = f"echo 0 > {group}/cgroup.procs; exec unshare --cgroup --mount sh -c 'umount -l {group.parent}; "
    prefix = ("sh", "-c", enter + f'mount -t cgroup2 none {own}; exec "$@"\' - "$@"', "-")
    lines, where = said(group, controller, own, *prefix)
    assert lines == [f"['{controller}']"] * 2 and where == ["agent"]


def test_processes_of_somebody_elses_session_stay_where_they_are(group: Path, controller: str) -> None:
    lines, where = said(group, controller, group)
    assert lines == ["[]"] * 2 and where == ["."]
