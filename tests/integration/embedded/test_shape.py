"""The shape of a host's stack: as asked, else as last time, and without what was decommissioned."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.embedded import cluster, shape
from controlplane.embedded.home import Home, HomeError
from controlplane.statestore.models import Lease, SubCluster


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    found = Home(tmp_path / "h")
    found.create()
    yield found
    found.remove_short()


def of(found: shape.StackShape) -> tuple[str, int]:
    return " ".join(found.sub_clusters), found.nodes


@pytest.mark.django_db
def test_what_was_asked_for_is_kept(home: Home) -> None:
    assert of(shape.wanted(home)) == ("east west", 2)
    shape.kept(home, shape.wanted(home, 3, 1))
    assert of(shape.wanted(home)) == ("east west north", 1)
    assert of(shape.wanted(home, nodes=0)) == ("east west north", 0)
    assert of(shape.wanted(home, 5)) == ("east west north south sub-5", 1)


@pytest.mark.parametrize("text", ["{", "[]", '{"nodes": "2"}', '{"sub_clusters": null, "nodes": 1}', '{"nodes": 1}'])
def test_a_file_that_cannot_be_used_stands_in_nobodys_way(home: Home, text: str) -> None:
    home.shape.write_text(text)
    assert of(shape.wanted(home)) == ("east west", 2)


@pytest.mark.parametrize(("asked", "named"), [((0, 1), "--sub-clusters is 0"), ((1, 65), "--nodes is 65")])
def test_what_cannot_be_is_refused_by_its_name(home: Home, asked: tuple[int, int], named: str) -> None:
    with pytest.raises(HomeError, match=named):
        shape.wanted(home, *asked)


@pytest.mark.django_db
def test_what_was_decommissioned_is_stopped_and_not_started_again(stores: Home, home: Home) -> None:
    for name, state in (("east", SubCluster.State.RUNNING), ("west", SubCluster.State.DECOMMISSIONED)):
        place = SubCluster.objects.get_or_create(name=name)[0]
        SubCluster.objects.filter(pk=place.pk).update(state=state)
        Lease.objects.get_or_create(sub_cluster=place)
    assert of(shape.kept(home, shape.wanted(home))) == ("east", 2)
    assert {path.name for path in home.held.iterdir()} == {"west-1", "west-2"}
    assert of(shape.wanted(home)) == ("east", 2)
    assert "west" not in {leader.sub_cluster for leader in cluster.leaders()}, "and is missed by nobody"
