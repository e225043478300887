"""Claims about which URLs and addresses may be reached."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.policy.egress import judge_address, judge_url
from angelia.policy.verdict import Allow, Deny


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "http://example.com:8080/a?b=c#d",
        "https://example.com:443",
        "https://[2606:4700::1111]/",
        "https://93.184.215.14/",
        "https://xn--bcher-kva.example/",
        "https://example.com/a@b",
        "https://8.example.com/",
        "http://localhost:3000/",
        "HTTPS://EXAMPLE.COM/",
    ],
)
def test_ordinary_web_addresses_are_allowed(url: str) -> None:
    assert isinstance(judge_url(url), Allow)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/html,x",
        "javascript:alert(1)",
        "//example.com/",
        "example.com",
        "",
        "https://",
        "https:///x",
        "https://me:pw@example.com/",
        "https://me@example.com/",
        "https://@example.com/",
        "https://example.com@169.254.169.254/",
        "https://good.example\\@evil.example/",
        "http://example.com:22/",
        "http://example.com:25/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:x/",
        "http://[::1",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://metadata.google.internal./",
        "http://METADATA/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.0x1/",
        "http://1.2.3.4.5/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: x",
        "http://example.com/\u202ex",
        " http://example.com/",
        "http://１２７.0.0.1/",
    ],
)
def test_other_urls_are_denied_with_a_reason(url: str) -> None:
    verdict = judge_url(url)
    assert isinstance(verdict, Deny)
    assert verdict.reason


CLOSED = [
    "0.0.0.0", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "169.254.1.1", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255", "192.88.99.1",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "2001:db8::1", "100::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::10.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::", "2a00:1450::5efe:7f00:1", "2a00:1450::200:5efe:10.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("address", CLOSED)
def test_addresses_that_are_not_the_public_web_are_denied(address: str) -> None:
    assert isinstance(judge_address(address), Deny)


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"],
)
def test_public_addresses_are_allowed_also_as_ipv6_writes_them(address: str) -> None:
    assert isinstance(judge_address(address), Allow)


def test_a_declared_range_opens_itself_and_nothing_else() -> None:
    assert isinstance(judge_address("198.18.0.7", ["198.18.0.0/15"]), Allow)
    assert isinstance(judge_address("::ffff:198.18.0.7", ["198.18.0.0/15"]), Allow)
    assert isinstance(judge_address("10.0.0.1", ["198.18.0.0/15"]), Deny)
    assert isinstance(judge_address("fd12::1", ["fd12::/16"]), Allow)


def test_a_refusal_names_the_setting_that_opens_the_range() -> None:
    assert "allow_ranges" in judge_address("10.0.0.1").reason


def test_metadata_opens_only_for_a_range_of_its_own() -> None:
    assert isinstance(judge_address("169.254.169.254", ["169.254.0.0/16", "0.0.0.0/0"]), Deny)
    assert isinstance(judge_address("169.254.169.254", ["169.254.169.254/32"]), Allow)


@pytest.mark.parametrize(("address", "ranges"), [("x", []), ("", []), ("127.0.0.1", ["nonsense"]), ("1.2.3", [])])
def test_what_cannot_be_read_is_denied(address: str, ranges: list[str]) -> None:
    assert isinstance(judge_address(address, ranges), Deny)


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}", "::{}"]))
def test_an_ipv4_address_is_never_freer_inside_an_ipv6_address(address: ipaddress.IPv4Address, shape: str) -> None:
    if isinstance(judge_address(str(address)), Deny):
        assert isinstance(judge_address(shape.format(address)), Deny)


@given(st.ip_addresses())
def test_what_is_allowed_is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if isinstance(judge_address(str(address)), Allow):
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        assert (mapped or address).is_global or str(address).startswith(("64:ff9b", "::"))
        assert not address.is_multicast
