"""Which hosts a confined command may reach, and what a remembered yes to some of them covers.

A grant of hosts has one of two forms. `host: pypi.org` is the network for every confined command that is otherwise
harmless, as far as these hosts. `host pypi.org: pip install flask` is a command that does more than reach them
(installs, sends something out), at these hosts alone. Several hosts stand side by side, with blanks.
"""

import re
from collections.abc import Iterable, Sequence

from angelia.policy.egress import judge_address, judge_url
from angelia.policy.grants import covers
from angelia.policy.shell.risk import CommandContext
from angelia.policy.verdict import Deny

_HOST = re.compile(r"[0-9a-z_](?:[0-9a-z_.-]*[0-9a-z_])?|[0-9a-f:.]*:[0-9a-f:.]*")


def refused_host(hosts: Sequence[str], allow_ranges: Sequence[str]) -> Deny | None:
    """The first refusal among these hosts, as `fetch` would refuse them."""
    for host in hosts:
        if not _HOST.fullmatch(host):
            return Deny(f"{host!r} is no host. Name hosts alone, such as pypi.org: no scheme, port, path or star.")
        address = ":" in host
        verdict = judge_url(f"https://[{host}]/" if address else f"https://{host}/")
        if not isinstance(verdict, Deny) and (address or host.replace(".", "").isdigit()):
            verdict = judge_address(host, allow_ranges)
        if isinstance(verdict, Deny):
            return verdict
    return None


def hosts_granted(hosts: Sequence[str], granted: Iterable[str]) -> bool:
    """Whether there are hosts, and each was granted to commands that do nothing worse than reach it."""
    known = {
        host for grant in granted if grant.startswith("host: ") for host in grant.removeprefix("host: ").split(" ")
    }
    return bool(hosts) and known.issuperset(hosts)


def command_granted(command: str, hosts: Sequence[str], granted: Iterable[str], context: CommandContext) -> str:
    """The remembered pattern that covers this command at these hosts; empty when none does."""
    for grant in granted if hosts else ():
        names, colon, pattern = grant.removeprefix("host ").partition(": ")
        if not grant.startswith("host ") or not colon:
            continue
        if set(hosts) <= set(names.split(" ")) and covers(pattern, command, context):
            return grant
    return ""


def hosts_pattern(hosts: Sequence[str], pattern: str, *, harmless: bool) -> str:
    """What a yes is remembered as; `pattern` is the command's own, empty when it is asked every time."""
    if harmless:
        return f"host: {' '.join(hosts)}"
    return f"host {' '.join(hosts)}: {pattern}" if pattern else ""


def wants_network(hosts: Sequence[str]) -> str:
    """The reason for the question."""
    if not hosts:
        return "It wants the network, and names no hosts: it may reach every public one."
    named = " and ".join(filter(None, (", ".join(hosts[:-1]), hosts[-1])))
    return f"It wants the network, as far as {named}."
