"""Where ``hydractl`` keeps addresses and tokens: one YAML file, readable by its owner alone.

A *context* is a server with an account's token. HYDRA_URL and HYDRA_TOKEN override the
current one; a stored token is never sent to another address than its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from pydantic import TypeAdapter, ValidationError

from client.errors import client_error
from client.transport import check_url
from contract import yamltext

DEFAULT_URL = "http://127.0.0.1:8470"
DEFAULT_CONTEXT = "default"


@dataclass(frozen=True, slots=True)
class Context:
    url: str
    username: str = ""
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    current: str = DEFAULT_CONTEXT
    contexts: dict[str, Context] = field(default_factory=dict)

    def with_context(self, name: str, context: Context) -> Config:
        """A copy in which ``name`` is that context, and the current one."""
        return replace(self, current=name, contexts={**self.contexts, name: context})

    def without_token(self, name: str) -> Config:
        """A copy in which ``name`` has no token."""
        return replace(self, contexts={**self.contexts, name: replace(self.contexts[name], token=None)})

    def context_for(self, url: str, username: str) -> str:
        """The name under which a login is kept: the context of another server or account is never taken.

        One of this account at this server, the current one first; else the current one if it is none yet, or of this
        server and logged out; else a new one named after the host, or after the account where the server is known.
        """
        here = {name: c for name, c in self.contexts.items() if c.url.rstrip("/") == url.rstrip("/")}
        ordered = sorted(here, key=lambda name: name != self.current)
        own = [name for name in ordered if here[name].username == username]
        if own:
            return own[0]
        if self.current not in self.contexts or (self.current in here and here[self.current].token is None):
            return self.current
        host = urlsplit(url)
        names = [str(host.hostname), host.netloc.rpartition("@")[2].replace(":", "-"), host.geturl()]
        if here:
            names = [username, *(f"{username}@{name}" for name in names)]
        return next((name for name in names if name not in self.contexts), names[-1])


def config_path(env: Mapping[str, str] = os.environ) -> Path:
    """``$XDG_CONFIG_HOME/hydra/config.yaml``, by default below ~/.config."""
    base = env.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "hydra" / "config.yaml"


def load(path: Path) -> Config:
    """The stored contexts; an empty ``Config`` when there is no file. ``HydraError`` when it cannot be understood."""
    try:
        raw = yamltext.load(path.read_text(encoding="utf-8"))
        return TypeAdapter(Config).validate_python(raw or {})
    except FileNotFoundError:
        return Config()
    except (OSError, ValueError, yaml.YAMLError, ValidationError) as error:
        raise client_error(
            "the configuration cannot be read",
            field_name=str(path),
            remedy="Correct it, or remove it and log in again with: hydractl login",
        ) from error


def save(path: Path, config: Config) -> None:
    """Write the file with mode 0600 in a folder of mode 0700; a reader sees the old or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        yaml.safe_dump(TypeAdapter(Config).dump_python(config), file)
    temporary.replace(path)


def current(env: Mapping[str, str] = os.environ) -> Context:
    """The login that ``hydractl`` uses; HYDRA_URL and HYDRA_TOKEN override it."""
    return resolve(load(config_path(env)), None, env.get("HYDRA_URL") or None, env.get("HYDRA_TOKEN") or None)


def resolve(config: Config, name: str | None, url: str | None, token: str | None) -> Context:
    """The server and token to use: what was given (options, environment), else the named or current context.

    ``HydraError`` when ``name`` is no context.
    """
    if name is not None and name not in config.contexts:
        raise client_error(
            f"there is no context {name!r}",
            field_name="context",
            remedy=f"Known: {', '.join(config.contexts) or 'none'}. Make one with: hydractl -c {name} login URL",
        )
    stored = config.contexts.get(name or config.current, Context(DEFAULT_URL))
    chosen = check_url(url or stored.url)
    if token:
        return Context(chosen, "", token)
    return stored if chosen == stored.url.rstrip("/") else Context(chosen)
