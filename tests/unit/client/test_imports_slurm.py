"""Batch scripts as jobs: what each line becomes, what is lost, what is wrong, and what the script finds."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from client.conversion import beside
from client.errors import InvalidJob
from client.imports import Converted, converted
from client.imports.report import Fate


def made(*options: str, body: str = "true", first: str = "#!/bin/bash") -> Converted:
    found = converted("\n".join([first, *(f"#SBATCH {each}" for each in options), body, ""]), "work.sh")
    assert found is not None
    return found


def group(*options: str, **more: str) -> dict[str, Any]:
    found = made(*options, **more).spec["groups"][0]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (["--ntasks=4", "--cpus-per-task 2"], "resources", {"vcores_milli": 8000}),
        (["-n 4 -c2"], "resources", {"vcores_milli": 8000}),
        (["-N 1 --ntasks-per-node=3"], "resources", {"vcores_milli": 3000}),
        (["--mem=4G"], "resources", {"memory_mib": 4096, "vcores_milli": 1000}),
        (["--mem=1500"], "resources", {"memory_mib": 1500, "vcores_milli": 1000}),
        (["--mem=1K"], "resources", {"memory_mib": 1, "vcores_milli": 1000}),
        (["--mem-per-cpu=1.5G", "-c 4"], "resources", {"memory_mib": 6144, "vcores_milli": 4000}),
        (["--gres=gpu:2"], "resources", {"vcores_milli": 1000, "gpus": 2}),
        (["--gres=gpu"], "resources", {"vcores_milli": 1000, "gpus": 1}),
        (["-G 3"], "resources", {"vcores_milli": 1000, "gpus": 3}),
        (["--gpus-per-task=2 -n 2"], "resources", {"vcores_milli": 2000, "gpus": 4}),
        (["--gpus=2 --mem-per-gpu=8G"], "resources", {"memory_mib": 16384, "vcores_milli": 1000, "gpus": 2}),
        (["--time=90"], "timeout_s", 5400),
        (["--time=90:30"], "timeout_s", 5430),
        (["-t 01:30:00"], "timeout_s", 5400),
        (["--time=2-12"], "timeout_s", 216000),
        (["--time=1-02:03"], "timeout_s", 93780),
        (["--time=1-02:03:04"], "timeout_s", 93784),
        (["--time=UNLIMITED"], "timeout_s", None),
        (["--time=60-0"], "timeout_s", None),
        (["--array=0-15"], "count", 16),
        (["-a 1,3,7"], "count", 3),
        (["--array=0-15:4,1"], "count", 5),
        (["--partition=gpu"], "partition", "gpu"),
        (["-C haswell&big|old"], "node_labels", "haswell && big || old"),
        (["--exclude=n1,n2", "-C a|b"], "node_labels", "(a || b) && !(node in (n1, n2))"),
        (["-w n7"], "locality", {"nodes": ["n7"], "relax": False}),
        (["--time=10", "--time=20"], "timeout_s", 1200),
        (["##SBATCH --time=10"], "timeout_s", None),
        (["--time=10 # --time=20"], "timeout_s", 600),
        (["--cpus-per-t=2"], "resources", {"vcores_milli": 2000}),
    ],
)
def test_options_become_fields(options: list[str], field: str, value: object) -> None:
    found = made(*options)
    assert found.spec["groups"][0].get(field) == value
    assert not found.lost, [r.text() for r in found.lost]


@pytest.mark.parametrize(
    ("name", "called"),
    [("--job-name=Fold_3.b", "fold-3.b"), ("-J 'my job'", "my-job"), ("--job-name=__", "job"), ("--time=1", "work")],
)
def test_a_job_has_the_scripts_name_as_names_go_here(name: str, called: str) -> None:
    assert made(name).spec["name"] == called


LOST = [
    ("--dependency=afterok:123", "does not wait for another"),
    ("-d singleton", "does not wait for another"),
    ("--array=0-9%3", "not 3 at most"),
    ("--nodes=2", "a container is on one node"),
    ("--gres=gpu:a100:2", "not a100 alone"),
    ("--gres=lscratch:100", "no resource lscratch"),
    ("--mem=0", "all memory of a node"),
    ("--partition=a,b", "not the name of one partition"),
    ("--partition=GPU", "not the name of one partition"),
    ("--nodelist=n[1-3]", "name one"),
    ("--exclude=n[1-3]", "only names"),
    ("--constraint=[rack1*2]", "only names"),
    ("--exclusive", "others may run"),
    ("--begin=now+1hour", "begin at once"),
    ("--hold", "begin at once"),
    ("--licenses=matlab:1", "no licences"),
    ("--no-requeue", "tried again"),
    ("--signal=B:USR1@60", "SIGTERM"),
    ("--export=ALL,FOO", "FOO has no value"),
]


@pytest.mark.parametrize(("option", "why"), LOST)
def test_what_is_lost_is_said_with_its_line(option: str, why: str) -> None:
    (lost,) = made("--time=10", option).lost
    assert (lost.line, why in lost.became) == (3, True), lost


def test_of_several_nodes_the_container_gets_all_together() -> None:
    found = made("--nodes=2-4 --ntasks-per-node=3 --mem=4G --gres=gpu:2")
    assert [lost.what for lost in found.lost] == ["--nodes=2-4"]
    asked = {"memory_mib": 8192, "vcores_milli": 6000, "gpus": 4}
    assert found.spec["groups"][0]["resources"] == asked


@pytest.mark.parametrize(
    "option",
    ["--output=out.%j", "-e err", "--mail-type=END,FAIL", "--mail-user=a@b.c", "--account=p1", "-q long", "--nice=10",
     "--comment='a note'", "--open-mode=append", "--hint=nomultithread", "--verbose", "--export=ALL"],
)  # fmt: skip
def test_what_changes_nothing_is_noted(option: str) -> None:
    found = made(option)
    assert not found.lost
    assert [r.fate for r in found.remarks if r.line == 2] == [Fate.NOTED]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--time=soon"], "line 2: --time: 'soon' is not a time"),
        (["--time=1", "--ntask-per-nod=2"], "line 3: SLURM has no option --ntask-per-nod. Did you mean"),
        (["--ntasks=0"], "line 2: --ntasks: '0' is not a number of 1 or more"),
        (["--ntasks=two"], "line 2: --ntasks: 'two' is not a number of 1 or more"),
        (["--mem=lots"], "line 2: --mem: 'lots' is not an amount of memory"),
        (["--array=5-1"], "line 2: --array: '5-1' is a range of nothing"),
        (["--array=1-9999999"], "line 2: --array: '1-9999999' has more than 1,000,000 tasks"),
        (["--array=0-3%0"], "line 2: --array: '0' is not a number of tasks"),
        (["--array=a"], "line 2: --array: 'a' is not a range of indices"),
        (["--gres=gpu:a100:many"], "line 2: --gres: 'gpu:a100:many' does not say how many GPUs"),
        (["--job-name='a"], "line 2: a quotation is not closed"),
        (["--tim=3"], "line 2: SLURM has no option --tim"),
        (["--time"], "line 2: --time lacks its value"),
        (["--job-name=my job"], "line 2: 'job' is not an option"),
        (["-Z 3"], "line 2: SLURM has no option -Z"),
        (["hetjob"], "line 2: heterogeneous jobs cannot be taken over"),
        (["--mem-per-gpu=1G"], "line 2: --mem-per-gpu is said, and no GPU asked for"),
        (["--export=HYDRA_X=1"], "groups.0.env.HYDRA_X: names beginning with HYDRA_ are set by Hydra"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(options: list[str], says: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        made(*options)
    assert any(line.startswith(says) for line in caught.value.lines()), caught.value.lines()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#SBATCH --time=1\ntrue\n", "line 1: a batch script begins with #!"),
        ("#!/bin/bash\r\n#SBATCH --time=1\r\ntrue\r\n", "line 1: the lines end as DOS ends them"),
        ("#!/bin/tcsh\n#SBATCH --time=1\ntrue\n", "line 1: scripts of tcsh cannot be taken over"),
    ],
)
def test_a_script_that_no_shell_here_reads_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        converted(text, "a.sh")
    assert caught.value.lines()[0].startswith(says)


@pytest.mark.parametrize(
    ("body", "line", "why"),
    [
        ("set -e\nmodule load gcc/12", 3, "module: only where"),
        ("if true; then sbatch next.sh; fi", 2, "sbatch: SLURM's own commands"),
        ('echo "$SLURM_CLUSTER_NAME"', 2, "is not set"),
        ("srun --multi-prog conf", 2, "srun --multi-prog"),
        ("srun -n 2 --mpi=pmix ./prog", 2, "srun --mpi"),
        ("exec srun ./prog", 2, "which exec cannot start"),
    ],
)
def test_what_the_nodes_lack_is_found_in_the_script(body: str, line: int, why: str) -> None:
    (lost,) = made(body=body).lost
    assert (lost.line, why in lost.became) == (line, True), lost


@pytest.mark.parametrize(
    "body", ["srun ./prog -o out", "echo sbatch", "# module load x", "x=${SLURM_CLUSTER_NAME:-here}", "modules=3"]
)
def test_and_only_there(body: str) -> None:
    assert not made(body=body).lost


def test_other_systems_lines_and_late_ones_are_said() -> None:
    found = made("--time=1", body="true\n#SBATCH --time=2")
    assert [r.line for r in found.remarks if "SLURM does not read it" in r.became] == [4]
    (lost,) = made(body="#PBS -l nodes=1\ntrue").lost
    assert "#PBS" in lost.what


def started(spec: dict[str, Any], folder: Path, index: int = 0) -> "subprocess.CompletedProcess[str]":
    """The command as a node starts it, with the variables that a task has."""
    (group,) = spec["groups"]
    env = {
        "PATH": os.environ["PATH"], **group["env"], "HYDRA_JOB_ID": "42", "HYDRA_TASK_INDEX": str(index),
        "HYDRA_NODE": "n1", "HYDRA_ATTEMPT": "2", "HYDRA_WORK_DIR": str(folder), "HYDRA_USER": "ada",
    }  # fmt: skip
    return subprocess.run(group["command"], env=env, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("array", "ids"), [("0-15:5", [0, 5, 10, 15]), ("7", [7]), ("9,1,4", [1, 4, 9]), ("3-4", [3, 4])]
)
@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/env bash"])
def test_each_task_has_the_index_it_would_have(tmp_path: Path, array: str, ids: list[int], shell: str) -> None:
    body = 'echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_COUNT "$#"'
    spec = made(f"--array={array}", body=body, first=f"#!{shell}").spec
    assert spec["groups"][0]["count"] == len(ids)
    said = [started(spec, tmp_path, index).stdout for index in range(len(ids))]
    assert said == [f"{each} 42 {len(ids)} 0\n" for each in ids]


def test_a_script_finds_slurms_variables(tmp_path: Path) -> None:
    names = (
        "JOB_ID", "JOBID", "JOB_NAME", "NTASKS", "CPUS_PER_TASK", "CPUS_ON_NODE", "NODELIST", "RESTART_COUNT", "PROCID",
        "MEM_PER_NODE", "SUBMIT_DIR",
    )  # fmt: skip
    body = "echo " + " ".join(f"$SLURM_{name}" for name in names)
    found = made("-n 2 -c 3 --mem=1G --job-name=Big", body=body)
    assert not found.lost
    assert started(found.spec, tmp_path).stdout == f"42 42 Big 2 3 6 n1 1 0 1024 {tmp_path}\n"


def test_srun_starts_its_command_for_every_task_and_fails_with_it(tmp_path: Path) -> None:
    body = """
srun --exclusive sh -c 'echo task $SLURM_PROCID of $SLURM_NTASKS' | sort
srun -n 1 -c 2 echo once
srun --ntasks=2 sh -c 'exit $SLURM_PROCID' || echo "failed with $?"
echo "still $SLURM_NTASKS"
exit 3
"""
    done = started(made("--ntasks=3", body=body).spec, tmp_path)
    assert done.stdout.splitlines() == [
        "task 0 of 3", "task 1 of 3", "task 2 of 3", "once", "failed with 1", "still 3",
    ]  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")


def test_messages_of_the_shell_name_the_scripts_own_lines(tmp_path: Path) -> None:
    done = started(made("--time=1", body="\nnot-a-program").spec, tmp_path)
    assert "line 4: not-a-program" in done.stderr


def test_chdir_exports_and_other_interpreters(tmp_path: Path) -> None:
    (tmp_path / "it's").mkdir()
    options = (f'--chdir="{tmp_path}/it\'s"', "--export=NONE,GREETING=hello")
    assert started(made(*options, body='pwd; echo "$GREETING"').spec, tmp_path).stdout == f"{tmp_path}/it's\nhello\n"
    body = "import os, sys\nprint(os.environ['SLURM_JOB_ID'], os.getcwd())\nsys.exit(4)"
    done = started(made(options[0], body=body, first="#!/usr/bin/env python3").spec, tmp_path)
    assert (done.stdout, done.returncode) == (f"42 {tmp_path}/it's\n", 4)


def test_files_that_a_script_names_are_found_beside_it(tmp_path: Path) -> None:
    for name in ("train.py", "data/in.csv", "notes.txt", "job.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    script = "#!/bin/sh\n# notes.txt\npython3 ./train.py --input=data/in.csv --all data ../x /etc/passwd job.sh\n"
    assert beside(script, tmp_path / "job.sh") == ["train.py", "data/in.csv"]
    assert beside(script, Path("-")) == []


@pytest.mark.parametrize("text", ["name: a\ngroups: []\n", '{"name": "a"}', "", "#!/usr/bin/env hydractl\nname: a\n"])
def test_job_files_are_none_of_these(text: str) -> None:
    assert converted(text, "job.yaml") is None
