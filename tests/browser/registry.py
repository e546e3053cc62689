"""The pages of the front end, as its own registry lists them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_ENTRY = re.compile(r'\{ to: "(?P<to>[^"]+)", name: "(?P<name>[^"]+)"(?P<rest>.*?) page: ')
_ROLES = re.compile(r"roles: \[(.*?)\]")


@dataclass(frozen=True)
class Entry:
    """``roles``: who sees it; empty for everybody."""

    to: str
    name: str
    roles: tuple[str, ...]

    def shown_to(self, role: str) -> bool:
        return not self.roles or role in self.roles


def pages() -> list[Entry]:
    """In the order of the navigation."""
    text = (ROOT / "frontend" / "src" / "app" / "pages.tsx").read_text()
    found = []
    for match in _ENTRY.finditer(text):
        roles = _ROLES.search(match["rest"])
        found.append(Entry(match["to"], match["name"], tuple(re.findall(r'"(\w+)"', roles[1])) if roles else ()))
    return found
