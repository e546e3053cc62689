"""What a simulated RM is told of the policy in force."""

from simulator.clock import VirtualClock
from simulator.rows import Federation
from simulator.store import SimulatedStore


def test_each_sub_cluster_has_the_components_the_document_names_for_it() -> None:
    rows = Federation(VirtualClock())
    for number, name in enumerate(("west", "east"), 1):
        rows.add_sub_cluster(number, name)
    own = {"components": {"placement": {"policy": "pack"}}}
    version = rows.publish({"queues": {"a": {"guaranteed": 1.0}}, "sub_clusters": {"east": own}}).version
    stores = (SimulatedStore(rows, number, 0, lambda sub, changes: None) for number in rows.subs)
    told = [store.policy(version) for store in stores]
    assert [row and (row.components or {})["placement"]["policy"] for row in told] == ["spread", "pack"]
