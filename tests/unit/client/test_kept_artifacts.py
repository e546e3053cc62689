"""What an account keeps of artifacts, as ``hydractl artifacts`` lists and deletes it."""

import hashlib
import json
from typing import Any

from tests import hydractl

DATA = b"x" * 1536
DIGEST, EMPTY = (hashlib.sha256(data).hexdigest() for data in (DATA, b""))


def test_what_is_kept_is_listed_with_how_much_it_may_be(cluster: Any, env: dict[str, str]) -> None:
    cluster.artifacts = {DIGEST: DATA, EMPTY: b""}
    done = hydractl.run(("artifacts", "list"), env)
    assert done.returncode == 0, done.stderr
    _, uploaded, made = done.stdout.splitlines()
    assert DIGEST in uploaded and "1.5 KiB" in uploaded
    assert EMPTY in made and "7/map/3 part" in made
    assert done.stderr.strip() == "2 files, 1.5 KiB of at most 2.0 KiB"
    as_json = json.loads(hydractl.run(("artifacts", "list", "-o", "json"), env).stdout)
    assert [each["digest"] for each in as_json] == [DIGEST, EMPTY] and as_json[1]["output"]["job"] == 7


def test_each_that_is_named_is_deleted(cluster: Any, env: dict[str, str]) -> None:
    cluster.artifacts = {DIGEST: DATA, EMPTY: b""}
    done = hydractl.run(("artifacts", "rm", DIGEST, EMPTY), env)
    assert (done.returncode, done.stdout, cluster.artifacts) == (0, "", {}), done.stderr
    again = hydractl.run(("artifacts", "rm", DIGEST), env)
    assert again.returncode == 2 and f"you keep no artifact {DIGEST}" in again.stderr
