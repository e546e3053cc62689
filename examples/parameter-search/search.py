"""An application master that searches parameters by successive halving (Jamieson and Talwalkar, AISTATS 2016).

Rung by rung: train every candidate for a few epochs, keep the best third, give
those three times as many. Containers come and go with the trials there are to
run. All it needs to know again after a failure is in the tags of its trials.
"""

import json
import os
import random
from collections import deque
from pathlib import Path

from hydra.am import AMError, ApplicationMaster, Event

CANDIDATES, AT_ONCE = int(os.environ.get("CANDIDATES", "27")), int(os.environ.get("AT_ONCE", "6"))
KEEP = 3  # one in so many goes on
FIRST_EPOCHS = 2
TRIES = 3  # of a trial that fails
TRIAL = {"resources": {"memory_mib": 128, "vcores_milli": 250}}


def candidates() -> list[dict[str, float]]:
    """The same ones in every attempt."""
    rng = random.Random(7)
    return [
        {"rate": 10 ** rng.uniform(-3, 0), "decay": 10 ** rng.uniform(-6, -2), "degree": rng.randint(1, 6)}
        for _ in range(CANDIDATES)
    ]


class Search:
    """losses: (rung, candidate) -> loss, of trials that are done. running: container -> trial."""

    def __init__(self, am: ApplicationMaster) -> None:
        self.am = am
        self.settings = candidates()
        self.losses: dict[tuple[int, int], float] = {}
        self.failures: dict[tuple[int, int], int] = {}
        self.running: dict[str, tuple[int, int]] = {}

    def resume(self) -> None:
        """What former attempts have found and left running."""
        self.am.register()
        for event in self.am.history():
            self.hear(event)
        self.running = {c.id: trial_of(c.tag) for c in self.am.live("trial") if c.tag}
        if self.am.session and self.am.session.attempt > 1:
            print(f"attempt {self.am.session.attempt}: {len(self.losses)} trials are done, {len(self.running)} run")

    def rung(self) -> tuple[int, list[int]]:
        """The first rung that is not done, and its candidates; of the last, the one that remains."""
        number, left = 0, list(range(CANDIDATES))
        while len(left) > 1 and all((number, c) in self.losses for c in left):
            left = sorted(left, key=lambda c: self.losses[number, c])[: max(1, len(left) // KEEP)]
            number += 1
        return number, left

    def todo(self) -> deque[tuple[int, int]]:
        """Trials of this rung that nobody runs."""
        number, left = self.rung()
        known = set(self.running.values()) | self.losses.keys()
        return deque((number, c) for c in left if (number, c) not in known)

    def hear(self, event: Event) -> None:
        """Take in how a trial ended."""
        if event.kind != "ended" or not event.tag:
            return
        trial = trial_of(event.tag)
        self.running.pop(event.container, None)
        if event.succeeded:
            self.losses[trial] = json.loads(self.am.output(event.container, "result"))["loss"]
        elif event.reason in ("EXIT_CODE", "SIGNAL", "MEMORY"):  # its own fault
            self.failures[trial] = self.failures.get(trial, 0) + 1
            if self.failures[trial] >= TRIES:
                self.losses[trial] = float("inf")

    def step(self) -> None:
        """Have as many containers as there is work for, and work in each."""
        todo = self.todo()
        self.am.scale("trial", min(AT_ONCE, len(todo) + len(self.running)), **TRIAL)
        for container in self.am.live("trial"):
            if todo and not container.launched:
                self.launch(container.id, todo.popleft())

    def launch(self, container: str, trial: tuple[int, int]) -> None:
        number, candidate = trial
        settings = self.settings[candidate] | {"epochs": FIRST_EPOCHS * KEEP**number}
        try:
            self.am.launch(
                container,
                ["python3", "trial.py", json.dumps(settings)],
                files=self.am.files("trial.py"),
                outputs=[{"name": "result", "path": "result.json"}],
                tag=f"{number}.{candidate}",
            )
        except AMError as error:
            if error.status != 409:  # it was taken back meanwhile; another will come
                raise
            return
        self.running[container] = trial

    def run(self) -> None:
        self.resume()
        while len(self.rung()[1]) > 1:
            self.step()
            for event in self.am.poll(wait_s=10):
                self.hear(event)
        number, (best,) = self.rung()
        loss = self.losses.get((number - 1, best))
        Path("best.json").write_text(json.dumps({"settings": self.settings[best], "loss": loss}))
        self.am.finish("SUCCEEDED", f"the best of {CANDIDATES} candidates has a loss of {loss:.4f}")


def trial_of(tag: str) -> tuple[int, int]:
    number, candidate = tag.split(".")
    return int(number), int(candidate)


if __name__ == "__main__":
    Search(ApplicationMaster.from_env()).run()
