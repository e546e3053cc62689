"""One log for all processes: events with their values, as lines for people or as JSON, on stderr.

What Django, Celery and uvicorn say goes the same way. The keys of a JSON line
are those of the node manager's log: at, level, event, and the values.
"""

import logging
from collections.abc import MutableMapping
from typing import Any

import structlog

FORMATS = ("text", "json")
_SAID_OF_ALL: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
]


def configuration(form: str, level: str) -> dict[str, Any]:
    """Django's LOGGING. form: of ``FORMATS``. level: from which on this project's own events are told; of others
    warnings are."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SAID_OF_ALL,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": _formatter, "form": form}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "controlplane": {"level": level},
            "uvicorn": {"level": "INFO"},
            "django": {"handlers": [], "level": "WARNING"},  # Django's own way would mail
        },
    }


def _formatter(form: str) -> logging.Formatter:
    as_json = [structlog.processors.format_exc_info, _read_first, structlog.processors.JSONRenderer(default=str)]
    as_text = [
        structlog.dev.ConsoleRenderer(
            colors=False,
            timestamp_key="at",
            pad_event_to=0,
            pad_level=False,
            repr_native_str=True,  # what a tenant wrote breaks no line
            exception_formatter=structlog.dev.plain_traceback,  # the other one tells values: keys and passwords too
        )
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SAID_OF_ALL,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *(as_json if form == "json" else as_text),
        ],
    )


def _read_first(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """The keys one looks for stand first in a line."""
    return {key: event[key] for key in ("at", "level", "event") if key in event} | dict(event)
