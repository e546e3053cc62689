"""Nearly right scripts and manifests: a job that the server would take, or errors in words; nothing else, ever."""

from collections.abc import Callable
from random import Random

import pytest
import yaml

from client.errors import InvalidJob
from client.imports import converted
from contract import jobspec
from tests import mutations

SCRIPT = """#!/bin/bash -l
#SBATCH --job-name=fold -n 4 -c 2
#SBATCH --mem-per-cpu=1.5G --time=1-02:03:04 --array=0-15:5,3%2
#SBATCH --partition gpu --gres=gpu:a100:2,lscratch:5 -C 'a&b|c' -x n1,n2 -w n3
#SBATCH --export=ALL,A=1 --dependency=afterok:12 -o out.%j --mail-type=END
cd $SLURM_SUBMIT_DIR && module load gcc
srun -n 2 ./prog $SLURM_ARRAY_TASK_ID ${SLURM_CLUSTER_NAME}
"""
MANIFEST = yaml.safe_load("""
apiVersion: batch/v1
kind: Job
metadata: {name: pi, labels: {app: pi}}
spec:
  completions: 4
  parallelism: 2
  completionMode: Indexed
  backoffLimit: 4
  activeDeadlineSeconds: 60
  template:
    spec:
      nodeSelector: {disk: ssd}
      terminationGracePeriodSeconds: 9
      restartPolicy: Never
      containers:
      - name: pi
        image: perl
        command: [perl, -e]
        args: ["print $(N)"]
        workingDir: /tmp
        env: [{name: N, value: "2"}, {name: M, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {memory: 1e9, nvidia.com/gpu: 1}}
""")


def script(rng: Random) -> str:
    first, _, rest = SCRIPT.partition("\n")
    return f"{first}\n{mutations.text(rng, rest)}"


def manifest(rng: Random) -> str:
    found = mutations.value(rng, MANIFEST, rng.randint(1, 3))
    return yaml.safe_dump({**(found if isinstance(found, dict) else {}), "apiVersion": "batch/v1", "kind": "Job"})


def spelled(rng: Random) -> str:
    return "apiVersion: batch/v1\n" + mutations.text(
        rng, yaml.safe_dump({name: MANIFEST[name] for name in MANIFEST if name != "apiVersion"})
    )


@pytest.mark.parametrize("make", [script, manifest, spelled])
def test_nearly_right_texts(make: Callable[[Random], str]) -> None:
    rng, taken, refused = Random(f"imports {make.__name__}"), 0, []
    for _ in range(150):
        try:
            found = converted(make(rng), "file")
        except InvalidJob as error:
            refused += error.lines()
            continue
        assert found is not None
        taken += 1
        assert not jobspec.parse(found.spec)[1]
        assert all("\n" not in line for line in found.lines())
    assert taken > 5 and refused
    assert not [line for line in refused if not line or "\n" in line or len(line) > 2000]
