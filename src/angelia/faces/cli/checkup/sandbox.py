"""Looks at the sandbox: runs commands in it, and sees whether one gets out to the network."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence

from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.held_folder import HeldFolder
from angelia.sandboxes.local.command_groups import GROUPS, memory_of
from angelia.sandboxes.local.confinement import Unconfined
from angelia.sandboxes.local.resource_limits import MB, LocalSettings
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Reach, SandboxError
from angelia.sandboxes.shared.limits import processes
from angelia.service.app import App

SECONDS = 10.0
"""Time-out of each command."""


async def look_at_sandbox(app: App) -> AsyncIterator[CheckResult]:
    """Confinement, a command, the network."""
    setting = app.loaded.config.sandbox.confine
    with HeldFolder() as folder:
        sandbox = LocalSandbox(folder, home=app.loaded.home, state=app.running, confine=setting)
        try:
            match sandbox.confinement():
                case Unconfined(why=why) if setting == "off":
                    yield absent(
                        "sandbox", f"commands are not confined: {why}", "Take that setting away to confine them."
                    )
                case Unconfined(why=why, mend=mend):
                    yield broken("sandbox", f"commands cannot be confined, so each one asks: {why}", mend)
                case confined:
                    yield await _runs(sandbox, confined.by)
                    yield await asyncio.to_thread(_limits, app.loaded.config.sandbox.local)
                    yield await _network(sandbox)
        finally:
            await sandbox.close()


async def _runs(sandbox: LocalSandbox, by: str) -> CheckResult:
    try:
        said = await _said(sandbox, Command(argv=("echo", "it runs"), seconds=SECONDS))
    except SandboxError as error:
        return broken("sandbox", str(error), error.then or f"Run {by} by hand and see what it says.")
    if said.strip() != "it runs":
        return broken("sandbox", f"a confined command said {said[:200]!r}", f"Run {by} by hand and see what it says.")
    return well("sandbox", f"commands run, confined by {by}")


def _limits(settings: LocalSettings) -> CheckResult:
    """Whether a command can be held with all that it starts."""
    if sys.platform != "linux":
        return absent("limits", "there are none of commands on this system")
    if GROUPS.folder() is None:
        return absent(
            "limits",
            f"of each process of a command, not of all of them together: {GROUPS.why_not}",
            "With systemd and control groups of version 2, in a session of a login or a service, there are both.",
        )
    memory = f"{memory_of(settings) // MB:,} MB of memory" if settings.memory_percent else ""
    most = " and ".join(filter(None, (memory, processes(settings.processes)))) or "none is set"
    return well("limits", f"a command with all that it starts: {most}, by a control group")


async def _network(sandbox: LocalSandbox) -> CheckResult:
    """Commands try to reach a port of ours: directly none may, and by the proxy one must, or the trial says nothing."""
    reached = asyncio.Event()

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, start_serving=False)
    port = server.sockets[0].getsockname()[1]
    knock = ("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3")
    asking = f"printf 'CONNECT doctor.example:{port} HTTP/1.1\\r\\n\\r\\n' >&3 && cat <&3"
    by_proxy = ("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}} && {asking}")
    try:
        await server.start_serving()
        for reach in (Reach.CONFINED, Reach.NETWORK):
            await _said(sandbox, Command(argv=knock, seconds=SECONDS, reach=reach))
            if reached.is_set():
                return broken(
                    "network", "a confined command reached this machine", "Report this; use Docker until it is mended."
                )
        await _said(sandbox.judged_by(_ourselves), Command(argv=by_proxy, seconds=SECONDS, reach=Reach.NETWORK))
        if reached.is_set():
            return well("network", "off for confined commands; by a proxy to public hosts for those that may")
        return absent("network", "could not be tried: bash cannot connect here")
    except SandboxError as error:
        return broken("network", f"none can be had: {error.what} {error.why}".rstrip(), error.then)
    finally:
        server.close()


async def _ourselves(_origin: str, _host: str, _port: int) -> Sequence[str]:
    """Every name leads here, as long as the trial goes."""
    return ("127.0.0.1",)


async def _said(sandbox: LocalSandbox, command: Command) -> str:
    running = await sandbox.start(command)
    output = b"".join([chunk async for chunk in running.output()])
    await running.wait()
    return output.decode(errors="replace")
