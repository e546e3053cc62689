"""The ``#SBATCH`` lines of a script as options with their lines, read as ``sbatch`` reads them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from client.imports.report import Fate, Remarks, meant

_NOT_HERE = "Hydra has nothing like it"
_MAIL = "mail is a receiver of yours: hydractl receiver put me --mail, and notify in the job"
_KEPT = "what it writes is kept: hydractl logs JOB"
_LAYOUT = "the container's cores are the kernel's to share out"
# Options of sbatch by name: their letter, whether a value follows ("?": after = only), and what becomes of those
# that the job has no place for; None: the reader takes them.
_TAKEN: dict[str, str] = {
    "job-name": "J", "ntasks": "n", "cpus-per-task": "c", "nodes": "N", "time": "t", "array": "a", "partition": "p",
    "gpus": "G", "gres": "", "gpus-per-node": "", "gpus-per-task": "", "mem": "", "mem-per-cpu": "", "mem-per-gpu": "",
    "ntasks-per-node": "", "constraint": "C", "nodelist": "w", "exclude": "x", "chdir": "D", "export": "",
    "comment": "",
}  # fmt: skip
_NOTED: dict[str, tuple[str, str]] = {
    "output": ("o", _KEPT), "error": ("e", _KEPT), "open-mode": ("", _KEPT),
    "mail-type": ("", _MAIL), "mail-user": ("", _MAIL),
    "account": ("A", "whose share it uses is its queue's: --queue"),
    "qos": ("q", "its queue decides: --queue, --priority"), "wckey": ("", _NOT_HERE),
    "priority": ("", "--priority PRIORITY"), "profile": ("", _NOT_HERE), "acctg-freq": ("", _NOT_HERE),
    "distribution": ("m", _LAYOUT), "hint": ("", _LAYOUT), "threads-per-core": ("", _LAYOUT),
    "cores-per-socket": ("", _LAYOUT), "sockets-per-node": ("", _LAYOUT), "ntasks-per-core": ("", _LAYOUT),
    "ntasks-per-socket": ("", _LAYOUT), "extra-node-info": ("B", _LAYOUT), "mem-bind": ("", _LAYOUT),
    "gpu-bind": ("", _LAYOUT), "cpu-bind": ("", _LAYOUT), "core-spec": ("S", _LAYOUT), "thread-spec": ("", _LAYOUT),
    "cpu-freq": ("", _NOT_HERE), "gpu-freq": ("", _NOT_HERE), "switches": ("", _NOT_HERE), "prefer": ("", _NOT_HERE),
    "clusters": ("M", "Hydra chooses the sub-cluster"), "time-min": ("", "it has the time of --time"),
    "kill-on-invalid-dep": ("", _NOT_HERE), "gres-flags": ("", _LAYOUT), "mcs-label": ("", _NOT_HERE),
}  # fmt: skip
_LOST: dict[str, tuple[str, str]] = {
    "dependency": ("d", "a job does not wait for another: make both groups of one job, and say `after`"),
    "begin": ("b", "it would begin at once"), "deadline": ("", "it would run, however late"),
    "licenses": ("L", "Hydra counts no licences"), "reservation": ("", "Hydra has no reservations"),
    "input": ("i", "nothing is on its standard input"), "signal": ("", "SIGTERM comes grace_s before its end, only"),
    "nodefile": ("F", "name the nodes in locality"), "tmp": ("", "no room on disk is set aside"),
    "mincpus": ("", "ask by --cpus-per-task"), "cpus-per-gpu": ("", "ask by --cpus-per-task"),
    "gpus-per-socket": ("", "ask by --gpus"), "ntasks-per-gpu": ("", "ask by --ntasks"),
    "export-file": ("", "say the variables in env"), "bb": ("", _NOT_HERE), "bbf": ("", _NOT_HERE),
    "container": ("", "tasks are processes on the node"), "network": ("", _NOT_HERE),
    "uid": ("", "it runs as you"), "gid": ("", "it runs as you"), "batch": ("", "ask by --constraint"),
    "cluster-constraint": ("", "ask by --constraint"), "tres-per-task": ("", "ask by --gpus and --cpus-per-task"),
}  # fmt: skip
_FLAGS: dict[str, tuple[str, Fate, str]] = {
    "requeue": ("", Fate.TAKEN, "an attempt that is lost with its node is tried again, always"),
    "no-requeue": ("", Fate.LOST, "an attempt that is lost with its node is tried again"),
    "hold": ("H", Fate.LOST, "it would begin at once"), "exclusive": ("", Fate.LOST, "others may run on its node"),
    "overcommit": ("O", Fate.NOTED, _LAYOUT), "oversubscribe": ("s", Fate.NOTED, "cores are held by one task"),
    "no-kill": ("k", Fate.NOTED, "a container is on one node"), "nice": ("", Fate.NOTED, "--priority PRIORITY"),
    "get-user-env": ("", Fate.NOTED, "its environment is made anew"), "propagate": ("", Fate.NOTED, _NOT_HERE),
    "verbose": ("v", Fate.NOTED, _NOT_HERE), "quiet": ("Q", Fate.NOTED, _NOT_HERE),
    "parsable": ("", Fate.NOTED, "-o json"), "wait": ("W", Fate.NOTED, "hydractl submit --wait"),
    "test-only": ("", Fate.LOST, "it would be submitted: use hydractl validate"),
    "contiguous": ("", Fate.NOTED, "a container is on one node"), "reboot": ("", Fate.LOST, "nodes are not rebooted"),
    "spread-job": ("", Fate.NOTED, "a container is on one node"), "ignore-pbs": ("", Fate.NOTED, _NOT_HERE),
    "use-min-nodes": ("", Fate.NOTED, "a container is on one node"),
}  # fmt: skip
_VALUED = {*_TAKEN, *_NOTED, *_LOST}
_LETTERS = {
    **{letter: name for name, letter in _TAKEN.items()},
    **{row[0]: name for table in (_NOTED, _LOST, _FLAGS) for name, row in table.items()},
}
_LINE = re.compile(r"#SBATCH(?=\s|$)(.*)")
_OTHERS = re.compile(r"#(PBS|BSUB|\$|OAR|COBALT)\s")


@dataclass(frozen=True, slots=True)
class Option:
    """``--name=value`` of a line; a flag's value is empty."""

    line: int
    name: str
    value: str

    @property
    def text(self) -> str:
        return f"--{self.name}" + (f"={self.value}" if self.value else "")


def options(script: str, remarks: Remarks) -> dict[str, Option]:
    """Those that the job has a place for, by name, the last of each; what becomes of all others is remarked."""
    said: dict[str, Option] = {}
    begun = False
    for number, text in enumerate(script.split("\n"), 1):
        found = _LINE.match(text)
        if found and begun:
            remarks.noted(number, text, "stands after the first command: SLURM does not read it either")
        elif found:
            for option in _of_line(number, found[1], remarks):
                if option.name in said:
                    remarks.noted(said[option.name].line, said[option.name].text, f"said again in line {number}")
                said[option.name] = option
        elif _OTHERS.match(text):
            remarks.lost(number, text, "only lines that begin with #SBATCH are understood")
        begun = begun or bool(text.strip() and not text.startswith("#"))
    return {name: option for name, option in said.items() if name in _TAKEN or not _told(option, remarks)}


def _told(option: Option, remarks: Remarks) -> bool:
    """Say what becomes of an option that the job has no place for."""
    if option.name in _FLAGS:
        _, fate, why = _FLAGS[option.name]
        say = {Fate.TAKEN: remarks.taken, Fate.NOTED: remarks.noted, Fate.LOST: remarks.lost}[fate]
        say(option.line, option.text, why)
    elif option.name in _NOTED:
        remarks.noted(option.line, option.text, _NOTED[option.name][1])
    else:
        remarks.lost(option.line, option.text, _LOST[option.name][1])
    return True


def _of_line(number: int, text: str, remarks: Remarks) -> list[Option]:
    """The options of one line. What cannot be read is an error, and ends the line."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        remarks.error(number, "a quotation is not closed", "close it")
        return []
    if words and words[0] in ("hetjob", "packjob"):
        remarks.error(number, "heterogeneous jobs cannot be taken over", "write a job file with a group for each part")
        return []
    found: list[Option] = []
    while words:
        option = _option(number, words, remarks)
        if option is None:
            return found
        found.append(option)
    return found


def _option(number: int, words: list[str], remarks: Remarks) -> Option | None:
    """Takes an option, and its value, from the front of a line's words."""
    word = words.pop(0)
    if word.startswith("--"):
        given, equals, value = word[2:].partition("=")
        name = _full(given)
    elif len(word) > 1 and word[0] == "-":
        given, value = word[1], word[2:]
        equals, name = value, _LETTERS.get(given)
    else:
        remarks.error(
            number, f"{word!r} is not an option", "options begin with -- or -, and a value with blanks has quotes"
        )
        return None
    if name is None:
        known = [*_VALUED, *_FLAGS]
        remarks.error(number, f"SLURM has no option {word.partition('=')[0]}", meant(given, known))
        return None
    if name in _VALUED and not equals:
        if not words or words[0].startswith("--"):
            remarks.error(number, f"--{name} lacks its value", f"write --{name}=VALUE")
            return None
        value = words.pop(0)
    return Option(number, name, value)


def _full(given: str) -> str | None:
    """An option's name; sbatch knows each by any beginning that no other has."""
    known = [*_VALUED, *_FLAGS]
    if given in known:
        return given
    begun = [name for name in known if given and name.startswith(given)]
    return begun[0] if len(begun) == 1 else None
