"""A scope of systemd's that is ours to divide: where commands are put that may use up only so much together.

A login shell's own group is not ours to divide, and what is in it may only be moved by whoever owns all of what is
above. So the service manager of the user is asked, or of the machine where we are root (org.freedesktop.systemd1(5)):
first for a scope that it hands to us (`Delegate`), with a process in it that does nothing, since an empty scope is
removed; then, where the kernel refuses us, to move each command. That process ends with us, by whatever death, and the
scope with it.

Considered instead: Angelia itself in such a scope would end at a logout that it outlives today; a scope for each
command is two lines in the journal and several times the wait.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from jeepney import DBusAddress, MatchRule, Message, MessageType, message_bus, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from angelia.sandboxes.local.cgroup import CPU_WEIGHT, group_of, pass_on

_MANAGER = DBusAddress("/org/freedesktop/systemd1", "org.freedesktop.systemd1", "org.freedesktop.systemd1.Manager")
_ANSWER_S = 5.0


class SystemdScope:
    """One scope, for as long as this process lives. Its methods wait, and are for one thread at a time."""

    def __init__(self) -> None:
        """Ask for one.

        Raises:
            OSError: there is no such service manager, or it refuses; says what it said.
        """
        self._unit = f"angelia-{os.getpid()}-{os.urandom(4).hex()}.scope"
        self._bus = _connected()
        self._nothing = subprocess.Popen(
            ["/bin/sh", "-c", "read -r nothing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        try:
            self.folder = self._begun(self._nothing.pid)
            pass_on(self.folder, "scope")
        except BaseException:
            self.close()
            raise

    def take(self, group: str, pid: int) -> None:
        """Have a process moved into a group within.

        Raises:
            OSError: the service manager refuses, or does not answer.
        """
        self._ask("AttachProcessesToUnit", "ssau", (self._unit, f"/{group}", [pid]))

    def close(self) -> None:
        """Give it back. Idempotent."""
        self._bus.close()
        if self._nothing.stdin:
            self._nothing.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._nothing.wait(timeout=2)

    def _begun(self, pid: int) -> Path:
        properties = [
            ("Description", ("s", "What Angelia's commands may use up")),
            ("PIDs", ("au", [pid])),
            ("Delegate", ("b", True)),
            ("CPUWeight", ("t", CPU_WEIGHT)),  # beside our own service, which lies in the same slice
            ("CollectMode", ("s", "inactive-or-failed")),
        ]
        finished = MatchRule(type="signal", interface=_MANAGER.interface, member="JobRemoved")
        _answered(self._bus, message_bus.AddMatch(finished))
        self._ask("Subscribe", "", ())
        with self._bus.filter(finished) as signals:
            self._ask("StartTransientUnit", "ssa(sv)a(sa(sv))", (self._unit, "fail", properties, []))
            result = ""
            while not result:
                _, _, unit, ended = self._bus.recv_until_filtered(signals, timeout=_ANSWER_S).body
                result = ended if unit == self._unit else ""
        if result != "done":
            raise OSError(f"systemd could not begin a scope: {result}")
        found = group_of(pid)
        if found is None:
            raise OSError("what keeps its scope ended")
        return found

    def _ask(self, method: str, signature: str, body: tuple[object, ...]) -> None:
        _answered(self._bus, new_method_call(_MANAGER, method, signature or None, body))


def _connected() -> DBusConnection:
    try:
        return open_dbus_connection("SESSION" if os.getuid() else "SYSTEM")
    except (KeyError, ValueError) as error:  # no address in the environment, or none that is understood
        raise OSError("this session has no message bus (DBUS_SESSION_BUS_ADDRESS)") from error


def _answered(bus: DBusConnection, message: Message) -> None:
    answer = bus.send_and_get_reply(message, timeout=_ANSWER_S)
    if answer.header.message_type is MessageType.error:
        raise OSError(f"systemd says: {answer.body[0] if answer.body else 'no'}")
