"""What is found in the logs of a job."""

import datetime as dt
from typing import Literal

from contract.base import ALL_SAID, Answer, Page


class FoundLine(Answer):
    """A line of what a task has written that holds the text looked for.

    offset: bytes of the stream before it. text: of a long line some 500 characters around it, then ``cut``.
    """

    model_config = ALL_SAID

    group: str
    index: int
    attempt: int
    container: str
    stream: Literal["stdout", "stderr"]
    offset: int
    at: dt.datetime
    text: str
    cut: bool


class FoundLinePage(Page):
    """``searched``: bytes that were looked through for it. A page may hold no line, and yet not be the last."""

    results: list[FoundLine]
    searched: int
