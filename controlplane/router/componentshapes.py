"""The answer about every part of the system."""

from typing import Any, Literal

from controlplane.router.shapes import PageOf, Shape


class ComponentInfo(Shape):
    """``remedy``: what to do, empty where all is good. ``facts``: numbers by name, units last; they differ by kind."""

    kind: Literal["store", "rm", "gpg", "web", "worker", "beat", "nodes"]
    name: str
    verdict: Literal["good", "warn", "bad"]
    text: str
    remedy: str
    facts: dict[str, Any]


class ComponentList(PageOf):
    results: list[ComponentInfo]
