"""The log of the control plane's processes: one shape for all, one line an event, and no values of local variables."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import structlog

from controlplane import logs

NAME = "controlplane.test_logs"


@contextmanager
def written(form: str) -> Iterator[io.StringIO]:
    """What loggers called ``NAME`` write in that form."""
    lines = logs.configuration(form, "INFO")["formatters"]["lines"]
    text, logger = io.StringIO(), logging.getLogger(NAME)
    handler = logging.StreamHandler(text)
    handler.setFormatter(lines["()"](lines["form"]))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield text
    finally:
        logger.removeHandler(handler)


def fail() -> None:
    secret = "hunter2" * 2  # noqa: F841 - what a traceback with values would tell
    raise ValueError("broken")


@pytest.mark.parametrize("form", logs.FORMATS)
def test_errors_are_told_without_the_values_of_variables(form: str) -> None:
    with written(form) as text:
        try:
            fail()
        except ValueError:
            structlog.get_logger(NAME).exception("it failed", job=3)
    said = text.getvalue()
    assert "it failed" in said and "ValueError: broken" in said and "in fail" in said
    assert "hunter2hunter2" not in said


def test_a_line_of_json_is_an_event_of_either_library() -> None:
    with written("json") as text:
        structlog.get_logger(NAME).info("leads", sub_cluster="west", epoch=3)
        structlog.get_logger(NAME).debug("not told")
        logging.getLogger(NAME).warning("not %s", "found")
    own, foreign = map(json.loads, text.getvalue().splitlines())
    assert list(own)[:3] == ["at", "level", "event"]
    assert (own["level"], own["event"], own["sub_cluster"], own["epoch"]) == ("info", "leads", "west", 3)
    assert (foreign["level"], foreign["event"], foreign["logger"]) == ("warning", "not found", NAME)


@pytest.mark.parametrize("form", logs.FORMATS)
def test_what_a_tenant_wrote_makes_no_line_of_its_own(form: str) -> None:
    with written(form) as text:
        structlog.get_logger(NAME).warning("a job's name", name="mine\n2026-01-01T00:00:00Z [error] the end is near")
    assert len(text.getvalue().splitlines()) == 1
