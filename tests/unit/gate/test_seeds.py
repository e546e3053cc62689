"""Seeds stay the same from run to run, and with ``--soak`` they are new and told."""

import os
import subprocess
import sys

from tests import seeds
from tests.stores import ROOT

SAY = "from tests import seeds; print([*seeds.some(3, 2)], seeds.drawn(7).random())"


def said(**environ: str) -> list[str]:
    rest = {name: value for name, value in os.environ.items() if name not in {"HYDRA_SOAK", seeds.NAME}}
    done = subprocess.run(
        [sys.executable, "-c", SAY], cwd=ROOT, env=rest | environ, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_change_is_tried_with_the_same_seeds() -> None:
    assert (
        said() == said(**{seeds.NAME: "50"}) and said()[0] == "drawn from seed 7" and said()[1].startswith("[0, 1, 2] ")
    )


def test_long_variants_draw_anew_and_tell_from_what() -> None:
    first, second = said(HYDRA_SOAK="1"), said(HYDRA_SOAK="1")
    assert first != second
    number = first[0].rpartition("=")[2].rstrip(")")
    assert said(HYDRA_SOAK="1", **{seeds.NAME: number}) == first and first[1].startswith(f"[{number}, ")
