"""What an account keeps of artifacts."""

import datetime as dt

from contract.base import Answer, Page


class MadeBy(Answer):
    """A task's output: of the account's jobs that are still kept, one that left these bytes."""

    job: int
    group: str
    index: int
    name: str


class KeptArtifact(Answer):
    """``output``: null of what was uploaded, or whose job is forgotten."""

    digest: str  # SHA-256, hex
    size: int  # bytes
    created_at: dt.datetime
    last_used_at: dt.datetime
    output: MadeBy | None


class Kept(Answer):
    """What an account keeps of artifacts, and what it may; null: as much as it likes. Sizes in bytes."""

    files: int
    files_max: int | None
    size: int
    size_max: int | None


class KeptArtifactPage(Page):
    results: list[KeptArtifact]
    kept: Kept
