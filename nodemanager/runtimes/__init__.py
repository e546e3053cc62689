"""What ways to run containers have in common."""

from dataclasses import dataclass
from typing import Any

from nodemanager.events import Exit, RuntimeContainer

EXIT_FIELDS = ("code", "signal", "unknown", "over_memory", "disconnected", "ran_ms", "cpu_ms", "peak_mib")


@dataclass(frozen=True, slots=True)
class RuntimeEvent:
    """News from a runtime: ``kind`` is list, started, start_failed, exit, sample, refused or down."""

    kind: str
    container_id: int = 0
    error: str = ""
    exit: Exit | None = None
    containers: tuple[RuntimeContainer, ...] = ()
    memory_mib: int = 0
    cpu_ms: int = 0
    log_bytes: int = 0  # both streams together, at the end


def exit_from(raw: dict[str, Any]) -> Exit:
    """An exit as a runtime recorded it; a malformed one is an unknown one."""
    try:
        values = {name: raw[name] for name in EXIT_FIELDS if name in raw}
        return Exit(**values, not_started=bool(raw.get("start_error")))
    except TypeError:
        return Exit(unknown=True)
