"""Which addresses are public."""

import asyncio
import ipaddress
from typing import Any

import pytest

from controlplane import hosts, outside


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True), ("2606:4700::1111", True), ("127.0.0.1", False), ("10.1.2.3", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("192.168.0.1", False), ("0.0.0.0", False),
        ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("::", False), ("fe80::1", False),
        ("fd00::1", False), ("ff02::1", False), ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False), ("2001:0:53aa:64c:0:fbff:5fff:fffe", False), ("::127.0.0.1", False),
        ("::ffff:0:127.0.0.1", False), ("fec0::1", False), ("fe80::5efe:7f00:1", False), ("168.63.129.16", False),
        ("100.100.100.200", False), ("192.0.0.192", False), ("fd00:ec2::254", False), ("198.18.0.1", False),
    ],
)  # fmt: skip
def test_public(address: str, public: bool) -> None:
    assert outside.public(ipaddress.ip_address(address)) is public


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("10.1.2.3", True), ("::ffff:10.1.2.3", True), ("11.0.0.1", False), ("CI.Example.org", True),
        ("example.org", False), ("10.example.com", False),
    ],
)  # fmt: skip
def test_what_operators_list(host: str, listed: bool) -> None:
    assert hosts.listed(host, ["10.0.0.0/8", "*.example.org"]) is listed


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "127.1", "0177.0.0.1", "0x7f000001", "2130706433", "0", "0.0.0.0", "[::1]", "[::]",
        "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "169.254.169.254", "[fe80::1]", "127.0.0.1.",
    ],
)  # fmt: skip
def test_however_it_is_written_what_is_inside_is_not_connected_to(host: str, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": []}
    with pytest.raises((outside.Inside, OSError)):
        asyncio.run(outside.resolve(f"http://{host}:5432/"))


def test_a_public_address_of_this_machine_is_none(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What listens on all addresses, behind a firewall, is reached from here by each of them."""
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": []}
    monkeypatch.setattr(outside, "public", lambda address: True)
    assert "leads to 127.0.0.1" in outside.refused("https://127.0.0.1/")
    assert outside.refused("https://192.0.2.1/") == ""
    settings.HYDRA = settings.HYDRA | {"webhook_hosts": ["127.0.0.1"]}
    assert outside.refused("https://127.0.0.1/") == ""
