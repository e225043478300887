"""Machines with a network stack and a name of their own, each at the end of a cable that can be pulled.

A machine is a network namespace and a name, held by a process that ends with the tests; a cable is a pair of devices,
of which one stands here. What listens here does so at `host`, the address of this end of every cable.
"""

import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path

from msgspec import Struct

from angelia.testing.crash import ANGELIA

LIVE = f"{__name__}:live"
"""The entry of a child that lives on a machine."""
_HELD_BY, _NAMED = "ANGELIA_TESTS_MACHINE", "ANGELIA_TESTS_MACHINE_NAME"
_NEEDED = (1 << 12) | (1 << 21)
"""CAP_NET_ADMIN and CAP_SYS_ADMIN (linux/capability.h)."""
_NUMBERS = count(2)
"""Of cables: what is left of one that has just gone is in nobody's way."""


class Machine(Struct, frozen=True):
    """One of them. `cable` is the device at this end of its cable, `address` that of the other end."""

    name: str
    holder: int
    cable: str
    address: str

    @property
    def env(self) -> Mapping[str, str]:
        """What a child has to know that lives there, by `LIVE`."""
        return {_HELD_BY: str(self.holder), _NAMED: self.name}

    def pull(self) -> None:
        """Nothing comes or goes any more, and nobody is told."""
        _run("ip", "link", "set", self.cable, "down")

    def plug_in(self) -> None:
        """It does again."""
        _run("ip", "link", "set", self.cable, "up")


class MachineNetwork(Struct, frozen=True):
    """Some machines, and the address at which they reach what listens here."""

    host: str
    machines: tuple[Machine, ...]


def can_be_made() -> bool:
    """Whether there are namespaces here, and we may lay cables."""
    status = Path("/proc/self/status")
    told = status.read_text() if status.exists() else ""
    [held] = [int(line.split()[1], 16) for line in told.splitlines() if line.startswith("CapEff:")] or [0]
    return held & _NEEDED == _NEEDED and all(map(shutil.which, ("ip", "unshare", "nsenter")))


@contextmanager
def machine_network(machines: int) -> Iterator[MachineNetwork]:
    """So many machines; all that was made for them goes with the processes that hold them."""
    begin, pid = f"10.{128 + os.getpid() // 250 % 100}.{os.getpid() % 250}", os.getpid()
    holders: list[subprocess.Popen[bytes]] = []
    made = []
    try:
        for place in range(machines):
            words = ("unshare", "--net", "--uts", "sh", "-c", "echo; exec cat")
            holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            holders.append(holder)
            assert holder.stdout is not None
            holder.stdout.readline()  # it is there
            number = next(_NUMBERS)
            machine = Machine(f"machine-{place + 1}", holder.pid, f"a{pid}-{number}", f"{begin}.{number}")
            _lay_cable(machine, f"{begin}.1")
            made.append(machine)
        yield MachineNetwork(f"{begin}.1", tuple(made))
    finally:
        for holder in holders:
            holder.communicate()


def live() -> None:
    """Be a process of the machine that the environment names, and then what was asked for."""
    holder, name = int(os.environ.pop(_HELD_BY)), os.environ.pop(_NAMED)
    libc = ctypes.CDLL(None, use_errno=True)
    for kind in ("net", "uts"):
        with Path(f"/proc/{holder}/ns/{kind}").open("rb") as namespace:
            if libc.setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
    socket.sethostname(name)
    module, _, function = ANGELIA.partition(":")
    getattr(import_module(module), function)()


def _lay_cable(machine: Machine, host: str) -> None:
    there = ("nsenter", f"--net=/proc/{machine.holder}/ns/net", "ip")
    end = ("dev", machine.cable)
    _run("ip", "link", "add", machine.cable, "type", "veth", "peer", "name", "eth0", "netns", str(machine.holder))
    _run("ip", "address", "add", host, "peer", machine.address, *end)
    _run("ip", "link", "set", machine.cable, "up")
    _run(*there, "link", "set", "lo", "up")
    _run(*there, "address", "add", machine.address, "peer", host, "dev", "eth0")
    _run(*there, "link", "set", "eth0", "up")


def _run(*words: str) -> None:
    subprocess.run(words, check=True)
