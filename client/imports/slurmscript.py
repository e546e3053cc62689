"""What a batch script finds when it runs as a task: SLURM's variables, made of Hydra's, and ``srun`` on its node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from client.imports.report import Remarks

SHELLS = ("sh", "bash", "dash", "ksh")
_INLINE = {"perl": "-e", "ruby": "-e", "Rscript": "-e", "julia": "-e"}  # how others take a program from an argument
_OF_HYDRA = {
    "SLURM_JOB_ID": "$HYDRA_JOB_ID", "SLURM_JOB_NODELIST": "$HYDRA_NODE", "SLURM_NODELIST": "$HYDRA_NODE",
    "SLURMD_NODENAME": "$HYDRA_NODE", "SLURM_SUBMIT_DIR": "$HYDRA_WORK_DIR", "SLURM_JOB_USER": "$HYDRA_USER",
    "SLURM_RESTART_COUNT": "$((HYDRA_ATTEMPT - 1))",
}  # fmt: skip
ALIASES = {"SLURM_JOBID": "SLURM_JOB_ID", "SLURM_NPROCS": "SLURM_NTASKS"}  # older names, where a script uses them
# In the shell of the script itself, both evaluated in line 1: so its messages name the lines of the script.
_RUN = 'eval "$1"; script=$2; shift 2; eval "unset script; $script"'
_SRUN = r"""srun() (
  n=$SLURM_NTASKS
  while :; do
    case "${1-}" in
      -n|--ntasks) n=$2; shift 2 ;;
      -n[0-9]*) n=${1#-n}; shift ;;
      --ntasks=*) n=${1#*=}; shift ;;
      -[cNtGJpAwm]|--cpus-per-task|--nodes|--time|--gpus|--mem|--mem-per-cpu|--job-name|--gres)
        shift 2 ;;
      --) shift; break ;;
      -*) shift ;;
      *) break ;;
    esac
  done
  export SLURM_NTASKS="$n"
  if [ "$n" -eq 1 ]; then exec "$@"; fi
  i=0 begun= status=0
  while [ "$i" -lt "$n" ]; do
    SLURM_PROCID=$i SLURM_LOCALID=$i "$@" &
    begun="$begun $!" i=$((i + 1))
  done
  for each in $begun; do wait "$each" || status=$?; done
  exit "$status"
)
"""
_AT_COMMAND = r"(?:^|[;&|(`]|\b(?:then|do|else|if|while|time)\b)\s*"
_ABSENT = {
    **dict.fromkeys(
        ("sbatch", "salloc", "scancel", "squeue", "scontrol", "sacct", "sinfo", "sbcast", "sattach", "sstat"),
        "SLURM's own commands are not on the nodes",
    ),
    "module": "only where the shell of the nodes has it", "ml": "only where the shell of the nodes has it",
}  # fmt: skip
_COMMANDS = re.compile(_AT_COMMAND + rf"({'|'.join(_ABSENT)})\b(?!\s*=)")
_MPI = re.compile(_AT_COMMAND + r"(mpirun|mpiexec)\b")
_SRUN_WORD = re.compile(r"(?<![\w./$-])srun\b(?!\s*\()")
_SRUN_BY_OTHERS = re.compile(r"\b(exec|timeout|nohup|xargs|nice|env|parallel)\b[^|;&]*\bsrun\b")
_SRUN_LOST = re.compile(
    r"\bsrun\b(?:\s+-\S+(?:\s+[^-\s]\S*)?)*?\s+(--multi-prog|--output|--error|--input|--het-group|--pty|--bcast|--chdir|--export|-[oeiD]|--mpi)\b"
)
_VARIABLE = re.compile(r"\bSLURMD?_[A-Z_]+\b(?!:?-)")


def interpreter(script: str) -> list[str]:
    """The words of the first line's ``#!``; none where there is none."""
    first = script.partition("\n")[0]
    return first[2:].split() if first.startswith("#!") else []


def program(words: Sequence[str]) -> str:
    """The name of what a ``#!`` starts, also by ``env``."""
    names = [word.rpartition("/")[2] for word in words if not word.startswith("-")]
    return next((name for name in names if name != "env"), "")


def known(name: str) -> bool:
    """Whether scripts of this program can be handed over as an argument."""
    return name in SHELLS or name in _INLINE or name.startswith("python")


def command(script: str, name: str, exports: Iterable[str], chdir: str) -> list[str]:
    """What runs the script, whose text is the last argument.

    ``exports``: assignments to export; ``chdir``: where to run it, empty for the work folder.
    """
    words = interpreter(script)
    lines = [f"export {each}\n" for each in exports]
    if chdir:
        lines.append(f"cd {_quoted(chdir)} || exit\n")
    if program(words) in SHELLS:
        if _SRUN_WORD.search(script):
            lines.append(_SRUN)
        return [*words, "-c", _RUN, name, "".join(lines), script]
    flag = _INLINE.get(program(words), "-c")
    return ["/bin/sh", "-c", "".join(lines) + 'exec "$@"', name, *words, flag, script]


def exports(indices: Sequence[int] | None, script: str) -> list[str]:
    """Variables whose values are known when the task runs: the task's place, and its index in an array."""
    found = [f'{name}="{value}"' for name, value in _OF_HYDRA.items()]
    if indices is not None:
        found += ['SLURM_ARRAY_JOB_ID="$HYDRA_JOB_ID"', f"SLURM_ARRAY_TASK_ID={_index(indices)}"]
    return found + [f'{old}="${name}"' for old, name in ALIASES.items() if re.search(rf"\b{old}\b", script)]


def _index(indices: Sequence[int]) -> str:
    step = step_of(indices)
    if step:
        return f"$(({indices[0]} + {step} * HYDRA_TASK_INDEX))"
    return f'$(set -- {" ".join(map(str, indices))}; shift "$HYDRA_TASK_INDEX"; echo "$1")'


def step_of(indices: Sequence[int]) -> int:
    """The step between indices that are evenly spaced; 0 for others."""
    steps = {after - before for before, after in pairwise(indices)} or {1}
    return steps.pop() if len(steps) == 1 else 0


def look_through(script: str, ntasks: int, given: set[str], remarks: Remarks) -> None:
    """Remark upon commands and variables in the script that SLURM's nodes have and others may not.

    ``given``: variables that it will find.
    """
    shell = program(interpreter(script)) in SHELLS
    given = {*given, *_OF_HYDRA, *ALIASES}
    if shell and _SRUN_WORD.search(script):
        given |= {"SLURM_PROCID", "SLURM_LOCALID"}
    told: set[str] = set()
    for number, text in enumerate(script.split("\n"), 1):
        if text.lstrip().startswith("#"):
            continue
        for name in _VARIABLE.findall(text):
            if name not in given and name not in told:
                remarks.lost(number, name, "it is not set")
            told.add(name)
        if shell:
            _commands(number, text, ntasks, remarks)


def _commands(number: int, text: str, ntasks: int, remarks: Remarks) -> None:
    for name in _COMMANDS.findall(text):
        remarks.lost(number, text, f"{name}: {_ABSENT[name]}")
    for name in _MPI.findall(text):
        remarks.noted(number, text, f"{name}: where the nodes have it, over the cores of this one container")
    if not _SRUN_WORD.search(text):
        return
    other, lost = _SRUN_BY_OTHERS.search(text), _SRUN_LOST.search(text)
    if other:
        remarks.lost(number, text, f"srun is a function of the script's shell, which {other[1]} cannot start")
    elif lost:
        remarks.lost(number, text, f"srun {lost[1]}: it starts its command on this node, and no more")
    else:
        times = "once" if ntasks == 1 else f"{ntasks} times at once, unless it says -n,"
        remarks.taken(number, text, f"starts its command {times} in this container")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
