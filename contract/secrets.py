"""Secrets: values of an account that its jobs name and only their tasks are given."""

import datetime as dt
from typing import Annotated

from pydantic import AfterValidator, SecretStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from contract.base import ALL_SAID, Answer, Page, Request
from contract.problems import FieldError

VALUE_MAX = 64 << 10  # bytes of a value; one variable of a process may have twice as many


def _value(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text or "\0" in text:
        remedy = "give a text without NUL; write what is no text in base64"
        raise PydanticCustomError("written", "is empty or holds a NUL character", {"remedy": remedy})
    if len(text) > VALUE_MAX or len(text.encode()) > VALUE_MAX:
        told = {"most": f"{VALUE_MAX:,}", "remedy": "give less: keys and passwords, not data"}
        raise PydanticCustomError("written", "is longer than {most} bytes", told)
    return value


_SHOWN = {"type": "string", "format": "password", "writeOnly": True, "minLength": 1, "maxLength": VALUE_MAX}
Value = Annotated[SecretStr, AfterValidator(_value), WithJsonSchema(_SHOWN | {"pattern": r"^[^\x00]+$"})]


class SecretRequest(Request):
    """``value``: a text, kept as it is. It is never answered."""

    value: Value


class Secret(Answer):
    """``changed_at``: when it got its present value."""

    name: str
    created_at: dt.datetime
    changed_at: dt.datetime


class SecretDeleted(Answer):
    """``warnings``: which jobs that have not ended, and which schedules, of the account name it; a few of each."""

    model_config = ALL_SAID

    name: str
    warnings: list[FieldError] = []


class SecretList(Page):
    results: list[Secret]
