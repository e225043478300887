"""Which URLs and network addresses may be reached from here."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from angelia.policy.verdict import Allow, Deny

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Range = ipaddress.IPv4Network | ipaddress.IPv6Network

_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)

_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd20:ce::254",
                 "100.100.100.200", "192.0.0.192", "168.63.129.16")
)  # fmt: skip
"""AWS (also ECS and EKS), Google, Alibaba, Oracle, Azure: from their documentation of instance metadata."""

_CLOSED: tuple[tuple[str, Range], ...] = tuple(
    (what, ipaddress.ip_network(text))
    for what, texts in {
        "this machine": "0.0.0.0/8 127.0.0.0/8 ::1/128 ::/128",
        "a private network": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
        "the local link": "169.254.0.0/16 fe80::/10",
        "shared by a provider (CGNAT)": "100.64.0.0/10",
        "a benchmark or documentation range": "192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
        "2001:db8::/32 3fff::/20 100::/64",
        "multicast or broadcast": "224.0.0.0/4 240.0.0.0/4 ff00::/8",
        "a tunnel to another address": "192.88.99.0/24 2001::/23 2002::/16 5f00::/16",
    }.items()
    for text in texts.split()
)
"""From the IANA special-purpose address registries (RFC 6890)."""

_NAT64 = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")

_PLAIN = r"[\x21-\x7e]+"
_NUMERIC_END = r"(?i)(?:^|\.)(?:0x[0-9a-f]*|\d+)\.?$"


def judge_url(url: str) -> Allow | Deny:
    """The verdict on a URL as it is written; the addresses behind it are judged by `judge_address`.

    >>> judge_url("http://2130706433/").reason
    '2130706433 is a number that only looks like a host. Write the address as four parts, or a name.'
    """
    if not re.fullmatch(_PLAIN, url) or "\\" in url:
        return Deny("The URL holds blanks, backslashes or characters that must be percent-encoded.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as fault:
        return Deny(f"The URL cannot be read: {fault}.")
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in {"http", "https"}:
        return Deny(f"Only http and https are fetched, not {parts.scheme or 'a URL without a scheme'}.")
    if "@" in parts.netloc:
        return Deny("The URL carries a user name or password. Give it without.")
    if not host:
        return Deny("The URL names no host.")
    if host in _METADATA_NAMES:
        return Deny(f"{host} is a cloud's metadata service, which hands out credentials.")
    if port is not None and port < 1024 and port not in {80, 443}:
        return Deny(f"Port {port} belongs to another service; web pages are fetched from 80, 443 and ports over 1023.")
    if ":" not in host and re.search(_NUMERIC_END, host) and not _is_address(host):
        return Deny(f"{host} is a number that only looks like a host. Write the address as four parts, or a name.")
    return Allow("A web address.")


def judge_address(address: str, allow_ranges: Sequence[str] = ()) -> Allow | Deny:
    """The verdict on connecting to an IP address.

    `allow_ranges` is the setting of that name: CIDR ranges that are reached although they are private (a VPN, a
    DNS that answers with placeholder addresses). A metadata address needs a range of its own (`/32`, `/128`).

    >>> judge_address("127.0.0.1").reason
    '127.0.0.1 is this machine. To reach it on purpose, add its range to the setting allow_ranges.'
    """
    try:
        given = ipaddress.ip_address(address.partition("%")[0])
        ranges = [ipaddress.ip_network(text, strict=False) for text in allow_ranges]
    except ValueError as fault:
        return Deny(f"This is not an address or range: {fault}.")
    for real in dict.fromkeys((given, _embedded(given))):
        declared = any(real in allowed for allowed in ranges if allowed.version == real.version)
        if real in _METADATA and not any(real in allowed and allowed.num_addresses == 1 for allowed in ranges):
            return Deny(f"{address} is a cloud's metadata service, which hands out credentials.")
        kind = next((what for what, closed in _CLOSED if real.version == closed.version and real in closed), "")
        if not kind and not real.is_global and not _carries(real):
            kind = "not a public address"
        if kind and not declared:
            return Deny(f"{address} is {kind}. To reach it on purpose, add its range to the setting allow_ranges.")
    return Allow("A public address, or one in allow_ranges.")


def ranges_named(url: str) -> tuple[str, ...]:
    """The closed ranges that a person opens by saying yes to this very URL: what it names itself, letter by letter.

    A name that merely leads to a private address opens none, and a metadata service is not opened like this.

    >>> ranges_named("http://127.0.0.1:3000/mcp"), ranges_named("http://localhost/"), ranges_named("http://intra/")
    (('127.0.0.1/32',), ('127.0.0.0/8', '::1/128'), ())
    """
    host = (urlsplit(url).hostname or "").rstrip(".").partition("%")[0]
    if host == "localhost":
        return ("127.0.0.0/8", "::1/128")
    if not _is_address(host):
        return ()
    address = ipaddress.ip_address(host)
    return () if {address, _embedded(address)} & _METADATA else (f"{address}/{address.max_prefixlen}",)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _carries(address: Address) -> bool:
    """Whether the address stands for an IPv4 address, which is judged in its place."""
    return _embedded(address) != address


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for (RFC 4291, 6052), or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in block for block in _NAT64) or (address in _COMPATIBLE and int(address) > 1):
        return low
    # ISATAP (RFC 5214) hides an IPv4 address behind an interface id of 0:5efe.
    return low if (int(address) >> 32) & 0xFDFFFFFF == 0x5EFE else address


def named_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Hosts as they are compared: lower case, without brackets and a last dot, each once, in order."""
    return tuple(sorted({host.strip().lower().removeprefix("[").removesuffix("]").rstrip(".") for host in hosts}))
