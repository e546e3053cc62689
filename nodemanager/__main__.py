"""``python -m nodemanager --config FILE``: run one node until a signal."""

import argparse
import fcntl
import hashlib
import os
import signal
import sys
import time
from typing import NoReturn

from nodemanager import cgroups, config, folders, launch, membership
from nodemanager.agent import Agent
from nodemanager.clock import Clock
from nodemanager.http import Http
from nodemanager.isolation import detect
from nodemanager.log import note
from nodemanager.state import StateFile


def fail(text: str) -> NoReturn:
    """End with status 2 and one line on stderr: the settings, or the machine, have to be put right first."""
    print(f"node manager: {text}", file=sys.stderr)
    sys.exit(2)


def lock(settings: config.Config) -> int:
    """One agent per folder."""
    fd = os.open(settings.dir / "run" / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        fail(f"another node manager runs in {settings.dir}; stop it, or use another dir")
    return fd


def _group(settings: config.Config) -> str:
    """The control group of its containers; "" for none."""
    if not settings.cgroups:
        return ""
    return f"{settings.name}-{hashlib.sha256(str(settings.dir).encode()).hexdigest()[:8]}"


def main() -> None:
    """Settings, folders and the lock first, so that whatever is wrong is said before the node joins."""
    parser = argparse.ArgumentParser(prog="python -m nodemanager", description=__doc__)
    parser.add_argument("--config", default="", help="YAML or JSON file; see docs/operators.md")
    parser.add_argument("--stop-containers", action="store_true", help="on SIGTERM stop the containers too")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    launch.prctl(launch.PR_SET_DUMPABLE, 0)  # tasks that share its user read neither its memory nor its environment
    os.umask(0o077)
    launch.raise_open_files()
    try:
        settings = config.load(args.config, dict(os.environ))
        object.__setattr__(settings, "dir", settings.dir.absolute())
        group = _group(settings)
        isolation = detect(settings, sorted(cgroups.find(group).controllers) if group else [])
    except config.ConfigError as error:
        fail(str(error))
    try:
        containers = folders.prepare(settings.dir, isolation.separates_users)
    except OSError as error:
        fail(f"dir {settings.dir}: {error}")
    lock_fd = lock(settings)
    clock = Clock()
    http = Http(settings.control_plane, settings.ca_file, clock)
    saved = StateFile(settings.dir).load(time.monotonic())
    if saved.damaged:
        note("error", "local state is damaged and set aside; nothing is stopped on its account", why=saved.damaged)
    note("info", "starting", name=settings.name, enforces=isolation.enforces, dir=str(settings.dir))
    try:
        saved = membership.join(settings, isolation, http, saved)
    except OSError as error:
        fail(f"dir {settings.dir}: {error}")
    agent = Agent(
        config=settings,
        isolation=isolation,
        containers=containers,
        cgroup=group,
        http=http,
        clock=clock,
        saved=saved,
        stop_containers=args.stop_containers,
    )
    agent.run()
    folders.clean_up(settings.dir, containers)
    os.close(lock_fd)


if __name__ == "__main__":
    main()
