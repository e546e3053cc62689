"""Ports here for ports there, as people write them."""

import pytest

from client.commands.execs import _pair, _ports
from client.errors import HydraError


def ports(texts: list[str]) -> dict[int, int]:
    return _ports([_pair(text) for text in texts], {"http": 20_443, "admin": 20_447}.__getitem__)


def test_a_port_here_is_the_same_unless_it_is_given() -> None:
    assert ports(["8080", "9000:80", "0:81", "0:65535"]) == {8080: 8080, 80: 9000, 81: 0, 65_535: 0}
    assert ports(["http", "9000:admin"]) == {20_443: 20_443, 20_447: 9000}


@pytest.mark.parametrize(
    "text", ["", "X", "a_b", "http:1:x", "x:80", "0", "8080:", ":80", "80:0", "1:65536", "65536:1", "-1", "1:2:3", "٣"]
)
def test_what_names_no_port_is_told_how_to(text: str) -> None:
    with pytest.raises(HydraError, match="9000:8080"):
        ports([text])


def test_a_port_there_is_brought_to_one_port_here() -> None:
    with pytest.raises(HydraError, match="names port 80 twice"):
        ports(["80", "81:80"])
    with pytest.raises(HydraError, match="names port http twice"):
        ports(["20443", "81:http"])
