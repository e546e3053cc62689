"""What the table of the audit log says of a change."""

import datetime as dt
from typing import Any

import pytest

from client.commands.system import CHANGED_MAX, changed
from contract.system import AuditEntry


def said(before: Any, after: Any) -> str:
    at = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
    return changed(
        AuditEntry(id=1, at=at, actor="anna", action="a", target="b", before=before, after=after, address=None)
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, {"queue": "root.prod", "level": "submit"}, "queue root.prod, level submit"),
        ({"role": "tenant"}, {"role": "operator"}, "role tenant -> operator"),
        ({"keep": 50, "zone": "UTC"}, {"keep": 50, "zone": "Europe/Oslo"}, "zone UTC -> Europe/Oslo"),
        (None, {"active": False}, "active no"),
        ({"submit": []}, {"submit": ["ada"]}, "submit none -> ada"),
        ({"priority": 0, "name": "x"}, {"priority": 5}, "priority 0 -> 5, name x"),
        ({"queue": "root.prod"}, None, "queue root.prod"),
        (None, None, " "),
        (
            {"version": 3, "values": [{"path": "root.prod", "field": "guaranteed", "value": 0.4}]},
            {
                "version": 4,
                "values": [{"path": "root.prod", "field": "guaranteed", "value": 0.55}],
                "message": "a launch",
                "changes": ["root.prod guaranteed 40 % -> 55 %", "queue root.ads removed"],
            },
            '"a launch", root.prod guaranteed 40 % -> 55 %, queue root.ads removed',
        ),
        ({"queue": None}, {"queue": {"weight": 2.0, "submit": ["ada"]}}, "queue none -> weight=2, submit=ada"),
        (None, {"text": "root.a weight -> 3", "message": "calm"}, '"calm", root.a weight -> 3'),
        ({"text": "root.a weight -> 3", "message": "calm"}, {"message": ""}, "root.a weight -> 3"),
        ([1], "odd", " "),
    ],
)
def test_what_was_and_what_is(before: Any, after: Any, expected: str) -> None:
    assert said(before, after) == expected


def test_long_ones_are_cut_and_say_so() -> None:
    told = said({}, {"document": "line\n" * 1000})
    assert len(told) <= CHANGED_MAX and told.endswith(" ...") and "\n" not in told
    why = said(None, {"message": "because " * 100, "changes": ["root.a weight 1 -> 3"]})
    assert why == '"because because because because ...", root.a weight 1 -> 3', "a long reason hides no change"
