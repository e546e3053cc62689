"""``hydractl sub-cluster`` against a real web process: from a token to the last day."""

import json
import subprocess
from pathlib import Path

import pytest
from django.db import connection

from controlplane.statestore.models import Job, Node, SubCluster
from tests.hydractl import run
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.test_subclusters import lead
from tests.integration.api.world import World, job
from wire.states import JobState

ROOT = Path(__file__).parents[3]


@pytest.mark.django_db(transaction=True)
def test_a_sub_cluster_joins_is_emptied_and_leaves_from_the_shell(world: World, tmp_path: Path) -> None:
    lead("west", "east")
    SubCluster.objects.filter(name="east").update(state="lost")
    world["tenant"].post("jobs", job(name="held", groups=[{"name": "g", "count": 1, "command": ["x"]}]))
    SubCluster.objects.filter(name="east").update(state="running")
    held = Job.objects.get()
    rows.container(held, world.nodes[0].session.node_id)
    Job.objects.update(state=JobState.RUNNING)
    with web() as url:

        def hydractl(*words: str, role: str = "operator", stdin: str = "") -> subprocess.CompletedProcess[str]:
            known = {"HYDRA_TOKEN": world[role].token} if role else {}
            env = {"HOME": str(tmp_path), "HYDRA_URL": url} | known
            return run(words, env, stdin)

        token = hydractl("sub-cluster", "token", "--name", "third", "--valid", "2h").stdout.strip()
        joined = hydractl("sub-cluster", "register", "third", "--token", "-", role="", stdin=token + "\n")
        assert joined.returncode == 0 and "--queues rm.third" in joined.stderr, joined.stderr
        assert hydractl("sub-cluster", "register", "third", "--token", token, role="").returncode == 2
        third = hydractl("sub-cluster", "third").stdout
        assert "joining" in third and "a first node" in third
        assert len(hydractl("sub-cluster", "join-token", "third").stdout.strip()) > 20
        assert hydractl("sub-cluster", "decommission", "third").returncode == 0

        preview = hydractl("sub-cluster", "drain", "west", "--preview", "--deadline", "10m").stdout
        assert "west: 1 job at home, 1 container" in preview and "nobody knows" in preview, preview
        assert "east" in preview and "root.default" in preview
        assert "has room elsewhere now" in preview
        drained = hydractl("sub-cluster", "drain", "west", "-m", "sold")
        assert "left there: 1 job, 1 container" in drained.stdout, drained.stdout
        assert "sold" in hydractl("sub-cluster", "show", "west").stdout
        assert hydractl("sub-cluster", "drain", "west", role="tenant").returncode == 2
        refused = hydractl("sub-cluster", "decommission", "west")
        assert refused.returncode == 2 and "still has 1 job and 1 container" in refused.stderr
        assert "takes work again" in hydractl("sub-cluster", "resume", "west").stdout
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM statestore_container")
        waited = hydractl("sub-cluster", "drain", "west", "--wait").stdout
        assert "no container is left there, and 1 job that no other sub-cluster takes now" in waited, waited
        assert "takes work again" in hydractl("sub-cluster", "resume", "west").stdout
        rows.finish(held.pk, JobState.SUCCEEDED)
        empty = hydractl("sub-cluster", "drain", "west", "--wait").stdout
        assert "resume west; let it leave for good: hydractl sub-cluster decommission west" in empty
        assert "has left" in hydractl("sub-cluster", "decommission", "west", "-m", "sold").stdout
        Node.objects.filter(name="east-1").update(duty="cordoned")
        listed = hydractl("sub-clusters").stdout
        assert "decommissioned" in listed and "0, 1 closed" in listed
        shown = json.loads(hydractl("sub-cluster", "west", "-o", "json").stdout)
        assert (shown["state"], shown["message"]) == ("decommissioned", "sold")
        assert "1 closed" in hydractl("overview").stdout


@pytest.mark.django_db(transaction=True)
def test_whose_the_figures_of_the_overview_are_is_said(world: World, tmp_path: Path) -> None:
    lead("west", "east")
    with web() as url:

        def overview(role: str) -> str:
            return run(
                ("overview",), {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": world[role].token}
            ).stdout

        assert "your cores" in overview("tenant") and "YOUR CORES" in overview("tenant")
        assert "in service" in overview("operator") and "your" not in overview("operator").lower()
