"""The text of a job file, as people write it."""

from typing import Any

import yaml

from contract import yamltext
from contract.problems import FieldError
from controlplane.statestore.errors import Invalid


def read(text: str) -> Any:
    """What it holds; ``Invalid`` says where it is no YAML."""
    try:
        return yamltext.load(text)
    except yaml.YAMLError as error:
        what, place = yamltext.unreadable(error)
        line, column = place or (0, 0)
        wrong = FieldError("job", f"is not valid YAML: {what}", "correct it there", line=line, column=column)
        raise Invalid("the job file cannot be read", [wrong]) from None
