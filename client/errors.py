"""What goes wrong between a program and the cluster, as one exception type.

The server answers RFC 9457 problem documents; the client makes its own in the
same shape, so that whoever catches ``HydraError`` needs no second case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from contract import yamltext
from contract.problems import FieldError, Problem, sentence

Source = str | Mapping[str, int] | None  # a job file's text, or the lines of another kind of file by the job's fields


class HydraError(Exception):
    """A request was refused or could not be made; ``problem`` says why."""

    def __init__(self, problem: Problem, *, retry_after_s: float | None = None) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem
        self.retry_after_s = retry_after_s  # what the server asked for, None when it did not

    @property
    def status(self) -> int:
        return self.problem.status

    def lines(self) -> list[str]:
        """One line per wrong field, else one line in all; never empty."""
        if self.problem.errors:
            return [error.said() for error in self.problem.errors]
        return [sentence(self.problem.detail or self.problem.title)]

    def __str__(self) -> str:
        return " ".join(self.lines())


class Unreachable(HydraError):
    """No answer came; ``sent`` says whether the server may have received the request."""

    def __init__(self, problem: Problem, *, sent: bool) -> None:
        super().__init__(problem)
        self.sent = sent


class InvalidJob(HydraError):
    """A job file is wrong, found before anything was sent."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(Problem(title="The job is not valid", status=0, errors=list(errors)))


def placed(errors: Sequence[FieldError], source: Source, options: Collection[str] = ()) -> list[FieldError]:
    """The errors with where they stand in what a job was read from.

    options: fields that command-line options gave in place of the text, whose names they bear.
    """
    typed = [replace(each, field=f"--{each.field}") for each in errors if each.field in options]
    return [*typed, *_found([each for each in errors if each.field not in options], source)]


def _found(errors: Sequence[FieldError], source: Source) -> list[FieldError]:
    if source is None or not errors:
        return list(errors)
    if isinstance(source, str):
        return yamltext.located(errors, source)
    return sorted((replace(e, line=_line(e.field, source)) for e in errors), key=lambda e: e.line)


def _line(field: str, lines: Mapping[str, int]) -> int:
    """Of a field, or of the nearest thing around it that the text says."""
    while field and field not in lines:
        field = field.rpartition(".")[0]
    return lines.get(field, 0)


@contextmanager
def locating(text: Source, within: str = "", options: Collection[str] = ()) -> Iterator[None]:
    """What is refused meanwhile, here or by a server, tells where in a file's text it stands.

    text: that of a job file, or the lines of fields in another; none where nothing was read from one.
    within: the field of what is sent that holds the file, with its dot; what is not in it stays as it is.
    options: as for ``placed``.
    """
    try:
        yield
    except HydraError as error:
        if (text is not None or options) and error.problem.errors:
            others = [each for each in error.problem.errors if not each.field.startswith(within)]
            own = [each for each in error.problem.errors if each.field.startswith(within)]
            own = [replace(each, field=each.field.removeprefix(within)) for each in own]
            error.problem = error.problem.model_copy(update={"errors": [*others, *placed(own, text, options)]})
        raise


def client_error(message: str, *, field_name: str = "", remedy: str = "") -> HydraError:
    """An error of the caller's, found without asking the server."""
    return HydraError(Problem(title=message, errors=[FieldError(field_name, message, remedy)]))


def together(*tries: Callable[[], Any]) -> list[Any]:
    """What each comes to; where some are refused, all that is wrong is told at once."""
    found, wrong = [], []
    for each in tries:
        try:
            found.append(each())
        except HydraError as error:
            if not error.problem.errors:
                raise
            wrong += error.problem.errors
    if wrong:
        raise HydraError(Problem(title="The request is not valid", errors=wrong))
    return found


def problem_from(status: int, body: Any, fallback: str) -> Problem:
    """Read an answer's body as a problem document; anything else becomes one with ``fallback`` as its title.

    Besides RFC 9457 it understands ``{"detail": ...}``, which a proxy or a
    framework's own handler may send.
    """
    if not isinstance(body, dict):
        return Problem(title=fallback, status=status)
    errors = body.get("errors")
    return Problem(
        title=str(body.get("title") or fallback),
        status=status,
        detail=str(body.get("detail") or ""),
        type=str(body.get("type") or "about:blank"),
        errors=[_field_error(e) for e in errors if isinstance(e, dict)] if isinstance(errors, list) else [],
    )


def _field_error(raw: dict[str, Any]) -> FieldError:
    field, message, remedy, group = (str(raw.get(name) or "") for name in ("field", "message", "remedy", "group"))
    line, column = (n if type(n := raw.get(name)) is int else 0 for name in ("line", "column"))
    return FieldError(field, message, remedy, group, line, column)
