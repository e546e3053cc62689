"""Names of topics as browsers write them, checked before anything is read for them."""

import functools
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

TOPIC_MAX = 512  # characters
PLAIN = frozenset({"overview", "fleet", "queues", "queueuse", "queuematrix", "jobs", "policy"})
NUMBERED = ("job", "node")
KINDS = PLAIN | set(NUMBERED)  # all there are
JOB_FILTERS = ("state", "queue", "owner", "tag", "name", "kind", "node", "since", "until", "order")
FILTERS = {
    "jobs": JOB_FILTERS,
    "queueuse": ("sub_cluster",),
    "queuematrix": ("under", "partition", "resource", "skip"),
}
HINTS = {
    "queueuse": "overview",
    "queuematrix": "overview",
    "fleet": "nodes",
    "node": "nodes",
}  # what may have changed them, where it is called otherwise
_ONE = re.compile(rf"({'|'.join(NUMBERED)}):([1-9]\d{{0,17}})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Topic:
    """``kind`` is one of ``PLAIN``, or of ``NUMBERED`` with its ``number``.

    ``filters`` are those of ``FILTERS`` and of the REST address like it.
    """

    name: str  # as the browser wrote it: what its messages carry
    kind: str
    number: int = 0
    filters: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def hint(self) -> str:
        """The topic of ``controlplane.events`` that says this one may have changed."""
        return self.name if self.kind == "job" else HINTS.get(self.kind, self.kind)


def parse(name: object) -> Topic | None:
    """The topic of that name, or ``None`` when there is none."""
    if not isinstance(name, str) or len(name) > TOPIC_MAX or "%00" in name or "\0" in name:
        return None
    if name in PLAIN:
        return Topic(name, name)
    if one := _ONE.fullmatch(name):
        return Topic(name, one[1], number=int(one[2]))
    kind, _, query = name.partition("?")
    return _filtered(name, kind, query) if kind in FILTERS else None


@functools.lru_cache(1024)
def _filtered(name: str, kind: str, query: str) -> Topic | None:
    try:
        pairs = parse_qsl(query, strict_parsing=True, max_num_fields=len(FILTERS[kind]))
    except ValueError:
        return None
    filters = dict(pairs)
    sound = len(filters) == len(pairs) and set(filters) <= set(FILTERS[kind])
    return Topic(name, kind, filters=filters) if sound else None
