"""Names of topics as browsers write them, checked before anything is read for them."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

TOPIC_MAX = 512  # characters
PLAIN = frozenset({"overview", "nodes", "queues", "jobs"})
JOB_FILTERS = ("state", "queue", "owner", "tag", "name", "kind")
_JOB = re.compile(r"job:([1-9]\d{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Topic:
    """``kind`` is one of ``PLAIN`` or ``job``; ``filters`` belong to ``jobs`` and are those of ``GET /jobs``."""

    name: str  # as the browser wrote it: what its messages carry
    kind: str
    job_id: int = 0
    filters: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def hint(self) -> str:
        """The topic of ``controlplane.events`` that says this one may have changed."""
        return self.name if self.kind == "job" else self.kind


def parse(name: object) -> Topic | None:
    """The topic of that name, or ``None`` when there is none."""
    if not isinstance(name, str) or len(name) > TOPIC_MAX or "%00" in name:
        return None
    if name in PLAIN:
        return Topic(name, name)
    if job := _JOB.fullmatch(name):
        return Topic(name, "job", job_id=int(job[1]))
    return _filtered(name) if name.startswith("jobs?") else None


def _filtered(name: str) -> Topic | None:
    try:
        pairs = parse_qsl(name[5:], strict_parsing=True, max_num_fields=len(JOB_FILTERS))
    except ValueError:
        return None
    filters = dict(pairs)
    sound = len(filters) == len(pairs) and set(filters) <= set(JOB_FILTERS)
    return Topic(name, "jobs", filters=filters) if sound else None
