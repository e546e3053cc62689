"""The node manager's settings: a YAML or JSON file; the environment goes before it.

Every key may be given as ``HYDRA_NODE_<KEY>``. Unknown keys are refused, so
that a misspelt one does not pass for its default.
"""

import glob
import json
import os
import platform
import re
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from wire.resources import AXES, GPUS_MAX, RESOURCES

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
HOST = re.compile(r"[A-Za-z0-9.:_-]{0,253}")
_TRUTHS = {"1": True, "true": True, "0": False, "false": False}  # in the environment
REMOVED_KEYS = {"extended"}  # keys of older versions, whose files are to go on working
STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ConfigError(Exception):
    """A setting is missing or wrong; the text names it and says what would be right."""


def machine_memory_mib() -> int:
    """Nine tenths of this machine's memory: the rest is the system's."""
    with open("/proc/meminfo") as file:
        return int(file.readline().split()[1]) // 1024 * 9 // 10


@dataclass(frozen=True, slots=True)
class Config:
    """``dir``: work and state folder. ``*_mib`` and ``vcores_milli``: what this node offers; found out when absent."""

    control_plane: str
    name: str
    dir: Path
    join_token: str = ""
    join_token_file: str = ""  # read before joining, removed afterwards
    rack: str = "default"
    labels: dict[str, str] = field(default_factory=dict)
    memory_mib: int = field(default_factory=machine_memory_mib)
    vcores_milli: int = field(default_factory=lambda: len(os.sched_getaffinity(0)) * 1000)
    gpus: int = field(default_factory=lambda: len(glob.glob("/dev/nvidia[0-9]*")))
    ca_file: str = ""
    # Where the agent is root, tenant n's tasks run as uid_base + n % (uid_range / 2); those with secrets, and masters,
    # as users of the other half.
    uid_base: int = 200_000
    uid_range: int = 100_000
    heartbeat_s: float = 0.0  # 0: as the control plane says
    cache_mib: int = 2048  # artifacts kept for later tasks
    disk_reserve_mib: int = 256  # less free space than this makes the node unhealthy
    path: str = STANDARD_PATH  # PATH of the tasks
    cgroups: bool = True
    cpu_quota: bool = False  # tasks get no more of the processors than they asked for, even where some idle
    several_tenants: bool = False  # at once, even where all tasks run as the agent's own user
    advertise_host: str = ""  # where others reach the ports of this node's containers; none: the machine's name
    ports: tuple[int, int] = (20_000, 29_999)  # first and last that containers are given
    health_script: tuple[str, ...] = ()  # a path, or a program and its arguments; none: no script
    health_interval_s: float = 60.0
    health_timeout_s: float = 20.0
    health_as_task_user: bool = False  # as uid_base, where the agent is root; else as the agent


def advertised_host(config: Config) -> str:
    """Where others reach this machine: as the operator says, else its own name."""
    return config.advertise_host or platform.node()[:253]


def load(path: str, environ: dict[str, str]) -> Config:
    """Read and check; raises ``ConfigError``."""
    raw = _read(path) if path else {}
    known = {f.name: f for f in fields(Config)}
    for key in REMOVED_KEYS & raw.keys():
        del raw[key]
    for key in sorted(set(raw) - set(known)):
        raise ConfigError(f"{path}: unknown key {key!r}; known keys: {', '.join(sorted(known))}")
    for name in known:
        if f"HYDRA_NODE_{name.upper()}" in environ:
            raw[name] = environ[f"HYDRA_NODE_{name.upper()}"]
    for name, f in known.items():
        if name not in raw and f.default is MISSING and f.default_factory is MISSING:
            raise ConfigError(f"{path or 'settings'}: {name} is missing")
    config = Config(**{name: _convert(name, value) for name, value in raw.items() if value is not None})
    _check(config)
    return config


def _read(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    try:
        if text.lstrip().startswith("{"):
            raw = json.loads(text)
        else:
            import yaml  # only for YAML files: a node of JSON need not carry it

            raw = yaml.safe_load(text)
    except Exception as error:
        raise ConfigError(f"{path}: not readable as YAML or JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected keys and values, such as `name: node-1`")
    return raw


def _convert(name: str, value: Any) -> Any:
    """``value`` as the type its key has; texts come from the environment."""
    kind = {
        "dir": Path,
        "labels": dict,
        **dict.fromkeys(AXES, int),
        "uid_base": int,
        "uid_range": int,
        "cache_mib": int,
        "disk_reserve_mib": int,
        "heartbeat_s": float,
        "cgroups": bool,
        "cpu_quota": bool,
        "several_tenants": bool,
        "health_script": tuple,
        "ports": range,
        "health_interval_s": float,
        "health_timeout_s": float,
        "health_as_task_user": bool,
    }.get(name, str)
    try:
        if kind is tuple:
            return _words(value)
        if kind is range:
            return _range(value)
        if kind is dict:
            value = json.loads(value) if isinstance(value, str) else value
            return {str(k): str(v) for k, v in value.items()}
        if kind is bool:
            return value if isinstance(value, bool) else _TRUTHS[value.lower()]
        return kind(value)
    except (TypeError, ValueError, AttributeError, KeyError):
        words: dict[Any, str] = {range: "two of 1024 to 65535, such as 20000-29999", bool: "true or false"}
        expected = words.get(kind) or getattr(kind, "__name__", "a value")
        raise ConfigError(f"{name} is {value!r}; expected {expected}") from None


def _words(value: Any) -> tuple[str, ...]:
    """A command: a list of words, or one path. Texts of the environment may hold a list as JSON."""
    if isinstance(value, str):
        value = json.loads(value) if value.startswith("[") else [value] if value else []
    if not isinstance(value, list) or not all(isinstance(word, str) and word and "\0" not in word for word in value):
        raise ValueError(value)
    return tuple(value)


def _range(value: Any) -> tuple[int, int]:
    """``20000-29999``: numbers of unprivileged ports."""
    first, last = (int(text) for text in value.split("-"))
    if not 1024 <= first <= last <= 65_535:
        raise ValueError(value)
    return first, last


def _check(config: Config) -> None:
    if not NAME.fullmatch(config.name):
        raise ConfigError(f"name is {config.name!r}; use letters, digits, '.', '_' and '-', at most 64")
    if not config.control_plane.startswith(("http://", "https://")):
        raise ConfigError(f"control_plane is {config.control_plane!r}; use an address such as https://hydra.example")
    for name, least in (*((r.axis, r.least) for r in RESOURCES), ("uid_range", 2), ("uid_base", 1)):
        if getattr(config, name) < least:
            raise ConfigError(f"{name} is {getattr(config, name)}; use at least {least}")
    if min(config.health_interval_s, config.health_timeout_s) <= 0:
        raise ConfigError("health_interval_s and health_timeout_s must be more than 0")
    if config.health_script and not config.health_script[0].startswith("/"):
        raise ConfigError(f"health_script is {config.health_script[0]!r}; give the program's whole path")
    if not HOST.fullmatch(config.advertise_host):
        raise ConfigError(f"advertise_host is {config.advertise_host!r}; use a host name or an address, without a port")
    if config.gpus > GPUS_MAX:
        raise ConfigError(f"gpus is {config.gpus}; at most {GPUS_MAX} devices are handed out on one node")
    socket_path = config.dir.absolute() / "run" / "supervisor.sock"
    if len(str(socket_path)) > 106:
        raise ConfigError(f"dir is too long: {socket_path} must stay under 107 bytes; choose a shorter folder")
