"""Limits as people write them."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from contract.policy.limits import Limit, LimitByResource
from controlplane.policy.amounts import capacity
from controlplane.statestore.capacities import R
from wire.resources import AXES

LIMIT: TypeAdapter[LimitByResource] = TypeAdapter(Limit)


@pytest.mark.parametrize(
    ("written", "share"),
    [(0, 0.0), (1, 1.0), (0.4, 0.4), ("40%", 0.4), ("40 %", 0.4), ("12.5%", 0.125), ("100%", 1.0), ("0%", 0.0)],
)
def test_one_share_stands_for_every_resource(written: Any, share: float) -> None:
    found = LIMIT.validate_python(written)
    assert [getattr(found, axis) for axis in AXES] == [(share, 0)] * R
    assert LIMIT.validate_python({"gpus": written}).gpus == (share, 0)


@pytest.mark.parametrize(
    ("resource", "written", "units"),
    [
        ("memory_mib", 65536, 65536),
        ("memory_mib", 65536.0, 65536),
        ("memory_mib", "64GiB", 65536),
        ("memory_mib", "0.5 GiB", 512),
        ("memory_mib", "1.5 TiB", 3 << 19),
        ("memory_mib", "1 MiB", 1),
        ("vcores_milli", 32000, 32000),
        ("vcores_milli", "32 cores", 32000),
        ("vcores_milli", "1 core", 1000),
        ("vcores_milli", "0.25 cores", 250),
        ("vcores_milli", "500 millicores", 500),
        ("vcores_milli", "500m", 500),
        ("gpus", 4, 4),
        ("gpus", "1 gpu", 1),
        ("gpus", "0 gpus", 0),
    ],
)
def test_amounts_come_to_whole_units(resource: str, written: Any, units: int) -> None:
    assert getattr(LIMIT.validate_python({resource: written}), resource) == (0.0, units)


@pytest.mark.parametrize(
    "wrong",
    [
        "40", "101%", "-1%", "64GB", "64 gib", "1e3 MiB",
        "٣ GiB", "0.3 MiB", "5 cores", "", " 4 GiB", 1.5, 2.5, -1, True,
        None, [], float("nan"), float("inf"), 1 << 51, "99999999999999 TiB", {},
    ],
)  # fmt: skip
def test_what_is_no_amount_of_memory_is_told_with_the_remedy(wrong: Any) -> None:
    with pytest.raises(ValidationError) as raised:
        LIMIT.validate_python({"memory_mib": wrong})
    (error,) = raised.value.errors()
    assert error["loc"] == ("memory_mib",) and error["type"] == "limit" and "64 GiB" in error["ctx"]["remedy"]


@pytest.mark.parametrize("wrong", [2, 1.5, "64 GiB", "x", -0.1, True, [], None, "1 %%"])
def test_one_amount_cannot_stand_for_every_resource(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        LIMIT.validate_python(wrong)


def test_what_is_left_out_is_nothing_of_a_guarantee_and_all_of_a_maximum() -> None:
    some = LIMIT.validate_python({"gpus": 4})
    assert capacity(some, some) == {
        "guaranteed": {"share": [0.0] * R, "units": [4 * (axis == "gpus") for axis in AXES]},
        "maximum": {
            "share": [float(axis != "gpus") for axis in AXES],
            "units": [4 * (axis == "gpus") for axis in AXES],
        },
    }
    assert capacity(None, None)["maximum"]["share"] == [1.0] * R
