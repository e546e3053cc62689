"""Temporary overrides: they begin and end by themselves, exactly once, whatever else changes meanwhile."""

import datetime as dt
from typing import Any

import pytest

from controlplane.policy import overrides
from controlplane.policy.rows import flattened
from controlplane.statestore.models import AuditEntry, Intent, PolicyOverride, PolicyVersion, Queue
from tests.integration.api.together import at_once
from tests.integration.api.world import POLICY, World

NOW = dt.datetime.now(dt.UTC)
HOUR = dt.timedelta(hours=1)


def add(world: World, queue: str = "root.prod", **fields: Any) -> Any:
    asked = {"queue": queue, "field": "guaranteed", "change": {"percent": 10}, "message": "a launch"} | fields
    asked.setdefault("ends_at", NOW + 2 * HOUR)
    for name in ("starts_at", "ends_at"):
        if isinstance(asked.get(name), dt.datetime):
            asked[name] = asked[name].isoformat()
    return world["operator"].post("policy/overrides", asked)


def push(world: World, queues: dict[str, Any], **more: Any) -> Any:
    return world["operator"].post("policy", {"document": {"queues": queues}, "message": "a change"} | more)


def active() -> PolicyVersion:
    return PolicyVersion.objects.get(active=True)


def guaranteed() -> dict[str, float]:
    """Share of its parent that each queue in force is guaranteed."""
    rows = Queue.objects.filter(version__active=True).exclude(path="root")
    return {row.path: row.capacities[""]["guaranteed"]["share"][0] for row in rows}


def test_one_that_begins_now_is_in_force_at_once_and_ends_by_itself(world: World) -> None:
    base = active()
    answer = add(world)
    assert answer.status_code == 201, answer.content
    made, now = answer.json(), active()
    assert (made["state"], made["text"], made["author"]) == ("in_force", "root.prod guaranteed +10 %", "operator")
    assert now.overrides == [made["id"]] and now.base_id == base.pk and now.parent_id == base.pk
    assert now.author == world.users["operator"] and "override" in now.message and "a launch" in now.message
    shares = guaranteed()
    assert shares["root.prod"] == pytest.approx(0.44)
    assert shares["root.default"] == pytest.approx(0.5 * 0.56 / 0.6, abs=1e-5), "siblings made room in proportion"
    assert sum(shares[f"root.{name}"] for name in POLICY["queues"]) <= 1
    assert Intent.objects.filter(kind="policy", payload={"version": now.pk}).count() == 2
    shown = world["operator"].get("policy").json()
    assert shown["document"]["queues"] == POLICY["queues"], "what operators wrote"
    assert shown["effective"]["queues"]["prod"]["guaranteed"] == pytest.approx(0.44)
    assert (shown["overrides"], shown["base"]) == ([made["id"]], base.pk)
    assert overrides.step() is None, "nothing is due"
    ended = overrides.step(NOW + 3 * HOUR)
    assert ended is not None and f"override {made['id']} is over" in ended.message
    assert (ended.overrides, ended.written, guaranteed()["root.prod"]) == ([], None, 0.4)
    assert ended.document == base.document
    assert overrides.step(NOW + 3 * HOUR) is None


def test_one_that_is_planned_begins_in_time(world: World) -> None:
    base = active().pk
    number = add(world, starts_at=NOW + HOUR).json()["id"]
    assert active().pk == base and overrides.step() is None
    listed = world["operator"].get("policy/overrides").json()["results"]
    assert [(o["id"], o["state"]) for o in listed] == [(number, "planned")]
    begun = overrides.step(NOW + HOUR)
    assert begun is not None and begun.overrides == [number]
    entry = AuditEntry.objects.filter(action="policy.publish").latest("id")
    assert entry.actor is None and entry.after["overrides"] == [number]
    assert "root.prod guaranteed 40 % -> 44 %" in entry.after["changes"]


def test_a_push_keeps_those_that_are_in_force(world: World) -> None:
    tag = active().pk
    number = add(world).json()["id"]
    answer = push(world, POLICY["queues"] | {"new": {}}, parent=tag)
    assert answer.status_code == 201, "made from the base that is still in force, though not the version"
    new = answer.json()
    assert new["overrides"] == [number] and new["base"] == new["version"]
    assert "new" in new["effective"]["queues"] and guaranteed()["root.prod"] == pytest.approx(0.44)
    assert new["document"]["queues"]["prod"]["guaranteed"] == 0.4
    told = world["operator"].post("policy/diff", {"from": tag}).json()
    assert [c["text"] for c in told["changes"]] == ["queue root.new added"]
    assert "root.prod guaranteed 40 % -> 44 %" in [c["text"] for c in told["overridden"]]
    less = POLICY["queues"] | {"prod": POLICY["queues"]["prod"] | {"guaranteed": 0.2}}
    assert push(world, less, parent=tag).status_code == 412
    told = world["operator"].post("policy/diff", {"document": {"queues": less}}).json()
    assert [c["text"] for c in told["overridden"]] == ["root.prod guaranteed 20 % -> 22 %"]
    assert push(world, less).status_code == 201 and guaranteed()["root.prod"] == pytest.approx(0.22)
    same = push(world, less)
    assert same.status_code == 200, "overrides are no change of what operators wrote"


def test_cancelling_goes_back_at_once(world: World) -> None:
    number = add(world).json()["id"]
    for _ in range(2):
        answer = world["operator"].post(f"policy/overrides/{number}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert guaranteed()["root.prod"] == 0.4 and f"override {number} is cancelled" in active().message
    assert PolicyVersion.objects.count() == 3
    assert world["operator"].get("policy/overrides").json()["results"] == []
    assert len(world["operator"].get("policy/overrides?all=yes").json()["results"]) == 1
    assert world["operator"].post(f"policy/overrides/{2**40}/cancel").status_code == 404
    over = add(world).json()["id"]
    PolicyOverride.objects.filter(pk=over).update(ends_at=NOW - HOUR)
    assert world["operator"].post(f"policy/overrides/{over}/cancel").status_code == 409


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"ends_at": NOW - HOUR}, "ends_at"),
        ({"starts_at": NOW + 3 * HOUR}, "ends_at"),
        ({"ends_at": NOW + 9999 * HOUR}, "ends_at"),
        ({"queue": "root.nowhere"}, "queue"),
        ({"queue": "root"}, "queue"),
        ({"partition": "gpu"}, "partition"),
        ({"field": "weight", "partition": "gpu"}, "partition"),
        ({"field": "ordering", "change": {"to": "fifo"}}, "field"),
        ({"message": " "}, "message"),
        ({"change": {"percent": 0}}, "change.percent"),
        ({"change": {"percent": 151}}, "change"),
        ({"change": {"to": 2}}, "change.to"),
        ({"change": {"to": "70 flowers"}}, "change.to"),
        ({"field": "weight"}, "change"),
        ({"field": "max_running_jobs"}, "change"),
        ({"queue": "root.prod.web"}, "change"),
        ({"field": "maximum", "change": {"to": "20%"}}, "queues.prod.guaranteed"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_field(world: World, fields: dict[str, Any], field: str) -> None:
    answer = add(world, **fields)
    assert answer.status_code == 422, answer.content
    error = answer.json()["errors"][0]
    assert error["field"].removesuffix(".Percent.percent") == field and error["message"] and error["remedy"]
    assert not PolicyOverride.objects.exists() and PolicyVersion.objects.count() == 1


def test_how_a_limit_is_written_is_told(world: World) -> None:
    (error,) = add(world, field="maximum", change={"to": "2GiB"}).json()["errors"]
    assert (error["field"], error["message"]) == ("change.to", "'2GiB' is not a share")
    assert "{memory_mib: 2 GiB, vcores_milli: 2 cores}" in error["remedy"]
    (error,) = add(world, field="maximum", change={"to": {"memory": "2 GiB"}}).json()["errors"]
    assert error["field"] == "change.to.memory" and "memory_mib" in error["remedy"]
    to = {"memory_mib": "6 GiB", "vcores_milli": "2 cores"}
    made = add(world, "root.default", field="maximum", change={"to": to})
    assert made.json()["text"] == "root.default maximum -> memory 6 GiB, cores 2"
    assert "root.default maximum -> memory 6 GiB, cores 2 until" in active().message


def test_two_of_one_field_do_not_overlap(world: World) -> None:
    first = add(world, ends_at=NOW + HOUR).json()["id"]
    answer = add(world, starts_at=NOW + HOUR / 2)
    assert answer.status_code == 409 and f"override {first} of root.prod" in answer.json()["detail"]
    assert add(world, starts_at=NOW + HOUR).status_code == 201, "one after the other"
    assert add(world, field="weight", change={"to": 3}).status_code == 201, "another field"
    assert add(world, "root.default", starts_at=NOW + HOUR, change={"to": "90%"}).status_code == 422, (
        "together with the one of root.prod it is more than there is"
    )


def test_what_is_wrong_by_itself_is_not_put_down_to_another(world: World) -> None:
    assert add(world).status_code == 201
    (error,) = add(world, queue="root.nowhere").json()["errors"]
    assert error["field"] == "queue" and "together" not in error["message"]


def test_other_fields_and_several_at_once(world: World) -> None:
    live = {f"max_live_{what}_per_user": most for what, most in (("jobs", 9), ("tasks", 99), ("mib", 4))}
    others = {"weight": 3, "max_running_jobs": 5, "maximum": {"memory_mib": "6 GiB"}, **live}
    for field, to in others.items():
        assert add(world, "root.default", field=field, change={"to": to}).status_code == 201
    row = Queue.objects.get(version__active=True, path="root.default")
    assert (row.weight, row.max_running_jobs, row.capacities[""]["maximum"]["units"][0]) == (3, 5, 6144)
    assert {field: getattr(row, field) for field in live} == live
    assert len(active().overrides) == len(others)
    ended = overrides.step(NOW + 3 * HOUR)
    assert ended is not None and ended.overrides == []
    assert Queue.objects.get(version=ended, path="root.default").weight is None


def test_a_push_that_takes_its_queue_away_is_refused_or_forced(world: World) -> None:
    number = add(world, starts_at=NOW + HOUR).json()["id"]
    without = {"default": POLICY["queues"]["default"]}
    answer = push(world, without)
    assert answer.status_code == 409 and answer.json()["errors"][0]["field"] == "overrides"
    assert f"overrides cancel {number}" in answer.json()["errors"][0]["remedy"]
    assert push(world, without, force=True).status_code == 201
    assert PolicyOverride.objects.get(pk=number).cancelled_at is not None


def test_one_that_no_longer_fits_is_left_out_and_says_why(world: World) -> None:
    """The stepper goes on: what can be applied is, the rest is looked at again when the policy changes."""
    good = add(world, "root.closed", field="weight", change={"to": 2}, starts_at=NOW + HOUR).json()["id"]
    bad = add(world, starts_at=NOW + HOUR).json()["id"]
    PolicyOverride.objects.filter(pk=bad).update(change={"percent": 900})
    made = overrides.step(NOW + HOUR)
    assert made is not None and made.overrides == [good]
    row = PolicyOverride.objects.get(pk=bad)
    assert "would be 400 %" in row.problem and row.refused_in == made.pk
    assert overrides.step(NOW + HOUR) is None, "not tried again every second"
    PolicyOverride.objects.filter(pk=bad).update(starts_at=NOW - HOUR)
    shown = {o["id"]: o for o in world["operator"].get("policy/overrides").json()["results"]}
    assert shown[bad]["state"] == "refused" and "400 %" in shown[bad]["problem"]


def test_a_rollback_goes_to_what_operators_wrote(world: World) -> None:
    add(world)
    overridden = active().pk
    push(world, POLICY["queues"] | {"new": {}})
    answer = world["operator"].post("policy/rollback", {"version": overridden, "message": "back"})
    assert answer.status_code == 201
    assert answer.json()["document"]["queues"] == POLICY["queues"]
    assert guaranteed()["root.prod"] == pytest.approx(0.44), "and the override still holds"


@pytest.mark.django_db(transaction=True)
def test_of_several_steppers_each_begin_and_end_makes_one_version(world: World) -> None:
    add(world, starts_at=NOW + HOUR)
    for hours, count in ((1, 2), (3, 3)):
        made = at_once(lambda _n, at=NOW + hours * HOUR: overrides.step(at), 4)
        assert sum(version is not None for version in made) == 1
        assert PolicyVersion.objects.count() == count and PolicyVersion.objects.filter(active=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_push_and_a_begin_at_once_lose_neither(world: World) -> None:
    parent = active().pk
    number = add(world, starts_at=NOW + HOUR).json()["id"]
    PolicyOverride.objects.filter(pk=number).update(starts_at=NOW - HOUR)

    def work(n: int) -> Any:
        return overrides.step() if n else push(world, POLICY["queues"] | {"new": {}}, parent=parent).status_code

    assert at_once(work, 2)[0] == 201
    held = active()
    assert held.overrides == [number] and "new" in held.document["queues"]


def test_rows_of_the_derived_version_are_those_of_its_document(world: World) -> None:
    from controlplane.policy.documents import parse

    add(world)
    rows = {row.path: row.capacities for row in flattened(parse(active().document).queues)}
    assert dict(Queue.objects.filter(version__active=True).values_list("path", "capacities")) == rows
