"""What a simulated RM is told of the policy in force."""

from simulator.clock import VirtualClock
from simulator.rows import Federation
from simulator.store import SimulatedStore


def test_each_sub_cluster_has_the_components_the_document_names_for_it() -> None:
    rows = Federation(VirtualClock())
    for number, name in enumerate(("west", "east"), 1):
        rows.enter(number, name)
    own = {"components": {"placement": {"policy": "pack"}}}
    version = rows.publish({"queues": {"a": {"guaranteed": 1.0}}, "sub_clusters": {"east": own}}).version
    stores = (SimulatedStore(rows, number, 0, lambda sub, changes: None) for number in rows.subs)
    assert [store.policy(version)["components"]["placement"]["policy"] for store in stores] == ["spread", "pack"]
