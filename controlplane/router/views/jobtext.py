"""Job files sent as people wrote them: YAML, or JSON of several lines. Their errors name line and column."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from contract import yamltext
from contract.problems import FieldError
from controlplane.router import jobfile
from controlplane.statestore.errors import Invalid, TooLarge

TEXT_MAX = 128 << 10  # bytes that are read as YAML, which takes a hundred times as long as JSON


class JobYaml(BaseParser):
    """A job file in YAML (RFC 9512)."""

    media_type = "application/yaml"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        raw = stream.read(TEXT_MAX + 1)
        if len(raw) > TEXT_MAX:
            raise TooLarge(f"a job file in YAML may have {TEXT_MAX} bytes; send larger ones as JSON")
        try:
            return jobfile.read(raw.decode())
        except UnicodeDecodeError:
            raise Invalid(
                "the job file cannot be read", [FieldError("job", "is not UTF-8 text", "save it so")]
            ) from None


class JobText:
    """The text of a request, in which fields are looked up. Make it before the request's data is looked at."""

    def __init__(self, request: Request) -> None:
        self._raw: bytes = request._request.body

    def located(self, errors: Sequence[FieldError]) -> list[FieldError]:
        """The errors with their places in the text, where people wrote it."""
        if not errors or len(self._raw) > TEXT_MAX or b"\n" not in self._raw.strip():
            return list(errors)
        try:
            return yamltext.located(errors, self._raw.decode())
        except UnicodeDecodeError:
            return list(errors)

    @contextmanager
    def locating(self) -> Iterator[None]:
        """What is refused meanwhile tells where it stands."""
        try:
            yield
        except Invalid as error:
            if not any(each.line for each in error.errors):
                error.errors = self.located(error.errors)
            raise
