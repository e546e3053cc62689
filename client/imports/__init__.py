"""Jobs as other systems write them, read as Hydra's: each reader is a pure function from text to a ``Converted``."""

from __future__ import annotations

from client.imports import kubernetes, slurm
from client.imports.report import Converted

__all__ = ["Converted", "converted"]


def converted(text: str, name: str) -> Converted | None:
    """What a batch script or a Kubernetes manifest becomes; None for any other text. Known by its content.

    name: the file's, for errors and a job that names none. ``InvalidJob`` names the lines that are wrong.
    """
    if slurm.looks_like(text):
        return slurm.convert(text, name)
    if kubernetes.looks_like(text):
        return kubernetes.convert(text, name)
    return None
