"""A pod's references to Secrets: each key of one is a secret of its own here, named ``SECRET.KEY``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from client.imports.report import shown
from contract.fields import SECRET_NAME

Path = tuple[str | int, ...]
_NAME = re.compile(SECRET_NAME)
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME_MAX = 63


def keys(documents: Sequence[Any]) -> dict[str, list[str]]:
    """The keys of each Secret that stands in the same file, by its name. Its values are not looked at."""
    found = {}
    for each in documents:
        if isinstance(each, dict) and each.get("kind") == "Secret" and isinstance(each.get("metadata"), dict):
            parts = [each.get("data"), each.get("stringData")]
            named = [str(key) for part in parts if isinstance(part, dict) for key in part]
            found[str(each["metadata"].get("name"))] = sorted(set(named))
    return found


@dataclass(slots=True)
class Secrets:
    """What a group's ``secrets`` are to be. known: the keys of Secrets, where the file says them."""

    known: Mapping[str, list[str]]
    taken: list[dict[str, str]] = field(default_factory=list)

    def variable(self, name: str, reference: Any) -> str:
        """A variable that is a key of a Secret: what it became, or ``ValueError`` with why it could not."""
        secret, key = _texts(reference, "name", "key")
        return self._take(secret, key, env=name)

    def variables(self, source: Any, prefix: str) -> list[str]:
        """All keys of a Secret as variables, as ``variable`` each."""
        (secret,) = _texts(source, "name")
        return [self._take(secret, key, env=prefix + key) for key in self._keys(secret)]

    def files(self, volume: Any, folder: str) -> list[str]:
        """A volume of a Secret, its keys or those named ``items``, as files below a folder of the work folder."""
        (secret,) = _texts(volume, "secretName")
        items = volume.get("items")
        named = [_texts(item, "key", "path") for item in items] if isinstance(items, list) else None
        pairs = named if named is not None else [(key, key) for key in self._keys(secret)]
        return [self._take(secret, key, path=f"{folder}/{path}".lstrip("/")) for key, path in pairs]

    def _keys(self, secret: str) -> list[str]:
        if secret not in self.known:
            raise ValueError(f"which keys {secret} has is not known here: name them, or add the Secret to the file")
        return self.known[secret]

    def _take(self, secret: str, key: str, **place: str) -> str:
        name = f"{secret}.{key}"
        if len(name) > NAME_MAX or not _NAME.fullmatch(name):
            raise ValueError(f"{shown(name)} cannot be the name of a secret here")
        if "env" in place and not _ENV.fullmatch(place["env"]):
            raise ValueError(f"{shown(place['env'])} cannot be a variable")
        self.taken.append({"name": name, **place})
        where = next(iter(place.values()))
        return f"secrets: {name} as {where}; make it once: hydractl secret put {name}"


def _texts(of: Any, *names: str) -> tuple[str, ...]:
    return tuple(_text(of, name) for name in names)


def _text(of: Any, name: str) -> str:
    value = of.get(name) if isinstance(of, dict) else None
    if not isinstance(value, str) or not value:
        raise ValueError(f"it says no {name}")
    return value


def volumes(pod: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Any, Path]]:
    """Of each volume its name, the Secret that it is or None, and where it stands."""
    listed = pod.get("volumes")
    for number, each in enumerate(listed if isinstance(listed, list) else []):
        name = each.get("name") if isinstance(each, dict) else None
        yield str(name), each.get("secret") if isinstance(each, dict) else None, (*path, "volumes", number)
