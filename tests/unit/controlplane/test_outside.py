"""Which addresses are public."""

import ipaddress

import pytest

from controlplane import hosts, outside


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True), ("2606:4700::1111", True), ("127.0.0.1", False), ("10.1.2.3", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("192.168.0.1", False), ("0.0.0.0", False),
        ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("::", False), ("fe80::1", False),
        ("fd00::1", False), ("ff02::1", False), ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False), ("2001:0:53aa:64c:0:fbff:5fff:fffe", False),
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
