"""The text of a job file, as people write it."""

from typing import Any

import yaml

from contract import yamltext
from controlplane.statestore.errors import Invalid


def read(text: str) -> Any:
    """What it holds; ``Invalid`` says where it is no YAML."""
    try:
        return yamltext.load(text)
    except yaml.YAMLError as error:
        raise Invalid("the job file cannot be read", [yamltext.refused(error, text, "job")]) from None
