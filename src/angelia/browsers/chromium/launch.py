"""Starts Chromium behind its wall: a network namespace of its own, whose one way out is a proxy of ours.

What a page may reach is decided by that proxy, and by nothing in the browser: what intercepts requests inside leaks
web sockets, workers, WebRTC and names. Outside of the namespace there is nothing to switch off. The browser keeps its
own sandbox within. It sees the system's folders, fonts and certificates, a home of its own in memory,
and two folders that it shares with us, for downloads and uploads.

Nothing outlives us: the pipe ends with our process, and bubblewrap ends all that it started with the thread that did.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from angelia.browsers.chromium.cdp import CdpConnection
from angelia.browsers.chromium.display import Display
from angelia.browsers.chromium.pipe import PipeTransport
from angelia.browsers.chromium.program import INSTALL, INSTALL_WINDOW, Chromium, find_chromium
from angelia.browsers.chromium.shared_folders import SharedFolders
from angelia.browsers.port import BrowserMissing
from angelia.core.crash import crash_point
from angelia.deadline import within
from angelia.sandboxes.egress.addresses import Addresses
from angelia.sandboxes.egress.namespace import PORT, HeldCommand
from angelia.sandboxes.egress.proxy import EgressProxy, ProxiedHosts
from angelia.sandboxes.local.bubblewrap import proc_and_dev
from angelia.sandboxes.local.command import until_dead
from angelia.sandboxes.local.confinement import Confined, bubblewrap_program, confinement
from angelia.sandboxes.local.processes import MARK
from angelia.sandboxes.local.toolchains import SYSTEM

_NOBODY = 65534
"""The uid that root gives up its own for: Chromium does not keep its sandbox as root."""

_SHOWN = (
    *("/etc/fonts", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/alternatives", "/etc/ld.so.cache"),
    *("/etc/chromium.d", "/etc/mime.types", "/etc/localtime", "/var/cache/fontconfig"),
)

_FLAGS = (
    *("--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-default-apps", "--disable-domain-reliability", "--disable-quic", "--no-pings", "--mute-audio"),
    "--site-per-process",  # as whole browsers have it by themselves, and the shell does not
    *("--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad", "--password-store=basic"),
    *("--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-features=Translate,MediaRouter"),
    *("--proxy-bypass-list=<-loopback>", f"--proxy-server=http://127.0.0.1:{PORT}"),
    *("--window-size=1280,800", "--lang=en-US"),
)
_HOME = "/home/browser"
_UNTIL_GONE_S = 5.0


class ShownChromium(Struct, frozen=True):
    """A browser, and where its window is; none without `display`."""

    chromium: Chromium
    display: Display | None
    first: Sequence[str]
    """Options and address with which it begins."""

    @contextmanager
    def cookie(self) -> Iterator[int]:
        """A descriptor of what its X server knows its own by, or -1. It is read as us: the browser may be nobody."""
        path = self.display.cookie if self.display is not None else ""
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path else -1
        try:
            yield handle
        finally:
            if handle >= 0:
                os.close(handle)


class RunningChromium:
    """A browser that runs."""

    context, rules = "", None
    """All of it is ours, and what its pages ask for is decided outside of it."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", cdp: CdpConnection, network: ProxiedHosts, folders: SharedFolders
    ) -> None:
        self._process, self._network = process, network
        self.cdp, self.folders = cdp, folders

    @property
    def refusals(self) -> dict[str, str]:
        """Why hosts were not reached, by host; what is read may be taken out."""
        return self._network.refusals

    async def close(self) -> None:
        """End it, and wait until nothing of it is left. Idempotent."""
        self.cdp.close()
        try:
            await within(_UNTIL_GONE_S, until_dead(self._process))
        except TimeoutError:
            _kill(self._process)
            await until_dead(self._process)
        finally:
            self._process.wait()
            self.folders.close()
            await self._network.close()


def why_not(display: Display | None = None) -> BrowserMissing | None:
    """Why there is no browser here; None if there is one, which with `display` can show a window."""
    if find_chromium(window=display is not None) is None:
        if find_chromium() is not None:
            return BrowserMissing(
                "The browser of this machine knows no window.", then=f"Install one that does: {INSTALL_WINDOW}."
            )
        return BrowserMissing("There is no Chromium on this machine.", then=f"Install one: {INSTALL}.")
    if confinement() != Confined("bubblewrap"):
        return BrowserMissing(
            "A browser is only started behind a wall, and this machine has none.",
            "Pages could otherwise reach this machine's own network.",
            "Install bubblewrap; `angelia doctor` says whether it works.",
        )
    return None


async def start_chromium(
    addresses: Addresses, display: Display | None = None, first: Sequence[str] = ("about:blank",)
) -> RunningChromium:
    """Start one; `addresses` says what its pages may connect to. It shows a window on `display`, or none at all; it
    begins with `first`, further options and an address.

    Raises:
        BrowserMissing: there is none, or it cannot be started; says why.
    """
    chromium = find_chromium(window=display is not None)
    if (missing := await asyncio.to_thread(why_not, display)) or chromium is None:
        raise missing or BrowserMissing("There is no Chromium on this machine.", then=f"Install one: {INSTALL}.")
    proxy, folders = EgressProxy(addresses), SharedFolders(_NOBODY if os.geteuid() == 0 else 0)
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    try:
        with HeldCommand() as held:
            crash_point("browser.before_start")
            process = _begun(ShownChromium(chromium, display, first), held, folders, theirs_in, theirs_out)
            try:
                crash_point("browser.started")
                network = await proxy.serve(await held.listen(folders.mark), ())
            except BaseException:
                _kill(process)
                await asyncio.shield(until_dead(process))
                process.wait()
                raise
    except BaseException:
        os.close(ours_in)
        os.close(ours_out)
        folders.close()
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    running = RunningChromium(process, CdpConnection(PipeTransport(ours_in, ours_out)), network, folders)
    try:
        crash_point("browser.reached")
        await running.cdp.call("Browser.getVersion")
    except BaseException:
        await asyncio.shield(running.close())
        raise
    return running


def _begun(
    seen: "ShownChromium", held: HeldCommand, folders: SharedFolders, reading: int, writing: int
) -> "subprocess.Popen[bytes]":
    user = _NOBODY if os.geteuid() == 0 else 0
    helper = str(Path(__file__).with_name("exec_on_pipe.py"))
    with seen.cookie() as cookie:
        argv = _argv(seen, cookie, held, folders)
        return subprocess.Popen(  # noqa: S603 - a fixed command line
            [sys.executable, "-I", "-S", helper, str(reading), str(writing), str(user), *argv],
            pass_fds=(reading, writing, *held.descriptors, *((cookie,) if cookie >= 0 else ())),
            env={MARK: folders.mark},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End all of it: while bubblewrap sets things up, its inner process does not yet end with the outer one, and would
    be left for ever. They are one group, in a session of their own.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _argv(seen: "ShownChromium", cookie: int, held: HeldCommand, folders: SharedFolders) -> list[str]:
    env = {"HOME": _HOME, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": "/tmp"}  # noqa: S108 - its own
    chromium, display = seen.chromium, seen.display
    if display is not None:
        env |= display.variables(_HOME)
        shown = [f"--ozone-platform={display.platform}"]
    else:
        shown = ["--hide-scrollbars", *(() if chromium.shell else ("--headless=new",))]
    return [
        bubblewrap_program(),
        *("--unshare-all", "--die-with-parent", "--clearenv", *held.options),
        *_mounts(),
        *folders.mounts(),
        *(display.mounts(_HOME, cookie) if display is not None else ()),
        *(word for name, value in env.items() for word in ("--setenv", name, value)),
        *("--chdir", _HOME, "--"),
        str(chromium.path),
        *shown,
        *_FLAGS,
        f"--user-data-dir={_HOME}/profile",
        *seen.first,
    ]


def _mounts() -> Iterator[str]:
    for folder in SYSTEM:
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    yield from (word for place in _SHOWN for word in ("--ro-bind-try", place, place))
    yield from proc_and_dev()
    yield from ("--tmpfs", "/tmp", "--tmpfs", "/home", "--dir", _HOME)  # noqa: S108 - its own
