"""The names and parameters that operators write are those of the code, and every pair that is allowed makes sense."""

import inspect
from typing import Any, get_args

import pytest

from contract.policy.federation import PROXIES, ROUTERS, RejectParameters, RouterParameters
from contract.policy.pairs import PARTNERS
from contract.policy.parts import ComponentPart
from controlplane.policy.documents import json_schema, validate
from controlplane.policy.federation import proxy_policies, routers
from controlplane.statestore.errors import Invalid
from scheduler.federation import routing, split

NEEDED: dict[str, dict[str, Any]] = {"priority": {"weights": {"a": 1}}, "local_first": {"order": ["a"]}}


def name_of(part: type[ComponentPart]) -> str:
    return str(get_args(part.model_fields["policy"].annotation)[0])


def parameters_of(part: type[ComponentPart]) -> set[str]:
    return set(part.model_fields["parameters"].annotation.model_fields)  # type: ignore[union-attr]


def test_the_default_comes_first() -> None:
    assert (name_of(ROUTERS[0]), name_of(PROXIES[0])) == ("least_loaded", "locality")


@pytest.mark.parametrize("part", ROUTERS, ids=name_of)
def test_a_routers_parameters_are_those_its_code_takes(part: type[ComponentPart]) -> None:
    takes = set(inspect.signature(routing.POLICIES[name_of(part)].make).parameters)
    common = set(RouterParameters.model_fields) if name_of(part) != "reject" else set()
    assert parameters_of(part) == takes | common


def test_a_proxys_parameters_are_fields_of_its_policy() -> None:
    fields = set(split.ProxyPolicy.__dataclass_fields__)
    for part in PROXIES:
        assert parameters_of(part) <= fields
    defaults = split.ProxyPolicy()
    assert proxy_policies({"queues": {"q": {}}}, {})("root.q") == defaults


@pytest.mark.parametrize("router", sorted(PARTNERS))
@pytest.mark.parametrize("proxy", sorted(split.POLICIES))
def test_every_pair_is_taken_or_refused_as_the_table_says(router: str, proxy: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("controlplane.policy.federation.unknown", lambda document, there: [])  # asks the StateStore
    pair = {"routing": {"policy": router, "parameters": NEEDED.get(router, {})}, "amrmproxy": {"policy": proxy}}
    document = {"queues": {"q": {"federation": pair, "children": {"leaf": {}}}}}
    if proxy not in PARTNERS[router]:
        with pytest.raises(Invalid) as refused:
            validate(document)
        assert [e.field for e in refused.value.errors] == ["queues.q.federation.amrmproxy.policy"]
        return
    stored = validate(document)[0]
    assert routers(stored)("root.q.leaf").name == router
    of = proxy_policies(stored, {"a": 1})("root.q.leaf")
    assert of.policy == proxy
    assert of.weights == ({1: 1.0} if router == "priority" and proxy in ("weighted", "locality") else {})


def test_old_documents_stay_valid_and_have_the_default_proxy() -> None:
    for name in ("least_loaded", "hash", "uniform"):
        stored = validate({"queues": {"q": {}}, "components": {"routing": {"policy": name, "parameters": {}}}})[0]
        assert routers(stored)("root.q").name == name
        assert proxy_policies(stored, {})("root.q") == split.ProxyPolicy()
        before = {
            **stored,
            "components": {"routing": {"policy": name, "parameters": {}}},
        }  # as older releases stored it
        assert routers(before)("root.q").name == name


def test_what_another_release_stored_is_as_if_it_were_not_there() -> None:
    stored = {"queues": {"q": {"federation": {"routing": {"policy": "nearest"}}}}, "components": {"routing": 7}}
    assert routers(stored)("root.q").name == "least_loaded"
    assert proxy_policies(stored, {})("root.q") == split.ProxyPolicy()


def test_the_schema_names_each_policy_with_its_own_parameters() -> None:
    schema = json_schema()
    pair = schema["$defs"]["Pair"]["properties"]
    found = {ref["$ref"].rpartition("/")[2] for ref in pair["routing"]["oneOf"]}
    assert found == {r.__name__ for r in ROUTERS}
    assert schema["$defs"][RejectParameters.__name__]["properties"].keys() == {"message"}
    assert schema["properties"]["components"]
