"""The agent's own memory across restarts: one file, replaced atomically, readable by its user only.

Losing it is survivable: the node registers again under its name, and the
runtime still holds what runs. So a file that cannot be read is set aside and
said so, and nothing is stopped on its account.
"""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodemanager import checks, jsonfiles
from nodemanager.core import Core
from nodemanager.lifecycle import Container, Phase, lease_from_json, lease_to_json
from wire.states import ContainerReason, ContainerState

# Sequence numbers claimed per write. A node that lost this file begins with the clock, in ms; its statuses are old news
# until it has passed what was claimed before.
SEQ_RESERVE = 1000
VERSION = 1
SAVED_FIELDS = ("grace_s", "collects", "exit_code", "ran_ms", "memory_mib", "peak_mib", "cpu_ms", "omitted")


@dataclass(slots=True)
class Saved:
    """What the file holds. ``seq``: the next status sequence number that was surely never used."""

    session: dict[str, Any] = field(default_factory=dict)
    control_plane: str = ""
    epoch: int = 0
    generation: int = 0
    seq: int = 0
    containers: list[Container] = field(default_factory=list)
    damaged: str = ""  # why the file could not be used


def container_to_json(c: Container) -> dict[str, Any]:
    """All but what can be fetched again: the template."""
    value: dict[str, Any] = {name: getattr(c, name) for name in SAVED_FIELDS}
    value |= {"id": c.container_id, "phase": int(c.phase), "state": int(c.state), "reason": int(c.reason)}
    value["lease"] = lease_to_json(c.lease) if c.lease else None
    value["verdict"] = [int(c.verdict[0]), int(c.verdict[1])] if c.verdict else None
    value["ports"] = c.ports
    value["health_check"] = checks.to_json(c.check)
    return value


def container_from_json(raw: dict[str, Any], at: float) -> Container:
    """Raises KeyError, TypeError or ValueError when it is not one."""
    c = Container(int(raw["id"]), lease_from_json(raw["lease"]) if raw["lease"] else None, since=at)
    phase = Phase(raw["phase"])
    c.phase = Phase.FETCHING if phase is Phase.LOCALIZING else phase
    c.state, c.reason = ContainerState(raw["state"]), ContainerReason(raw["reason"])
    for name in SAVED_FIELDS:
        if not isinstance(raw[name], (int, float)):
            raise ValueError(f"{name} is not a number")
        setattr(c, name, raw[name])
    c.ports = {str(name): int(number) for name, number in raw.get("ports", {}).items()}
    c.check = checks.from_json(raw.get("health_check"))
    if raw["verdict"]:
        c.verdict = (ContainerState(raw["verdict"][0]), ContainerReason(raw["verdict"][1]))
    return c


class StateFile:
    """``state.json`` in the node's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.json"

    def load(self, at: float) -> Saved:
        """What was saved; empty, with ``damaged`` saying why, when it cannot be used."""
        if not self.path.exists():
            return Saved()
        raw = jsonfiles.read_json(str(self.path))
        try:
            if raw is None or raw["version"] != VERSION:
                raise ValueError("not a state file of this version")
            return Saved(
                dict(raw["session"]),
                str(raw["control_plane"]),
                int(raw["epoch"]),
                int(raw["generation"]),
                int(raw["seq"]),
                [container_from_json(c, at) for c in raw["containers"]],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._set_aside()
            return Saved(damaged=f"{type(error).__name__}: {error}")

    def _set_aside(self) -> None:
        try:
            os.replace(self.path, self.path.with_suffix(f".damaged-{int(time.time())}"))
        except OSError:
            pass

    def save(self, session: dict[str, Any], control_plane: str, core: Core, seq: int, durable: bool) -> None:
        """Raises OSError (a full disk): the caller goes on and tries again."""
        value = {
            "version": VERSION,
            "session": session,
            "control_plane": control_plane,
            "epoch": core.epoch,
            "generation": core.generation,
            "seq": seq,
            "containers": [container_to_json(c) for c in core.containers.values()],
        }
        jsonfiles.write_json(str(self.path), value, durable)
