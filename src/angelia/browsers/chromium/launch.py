"""Starts Chromium behind its wall: a network namespace of its own, whose one way out is a proxy of ours.

What a page may reach is decided by that proxy, and by nothing in the browser: what intercepts requests inside leaks
web sockets, workers, WebRTC and names. Outside of the namespace there is nothing to switch off. The browser keeps its
own sandbox within. It sees the system's folders, fonts and certificates, a home of its own in memory,
and two folders that it shares with us, for downloads and uploads.

Nothing outlives us: the pipe ends with our process, and bubblewrap ends all that it started with the thread that did.
"""

import asyncio
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from angelia.browsers.chromium.browser_process import end_now, its_user, start_on_pipe, until_ended
from angelia.browsers.chromium.cdp import CdpConnection
from angelia.browsers.chromium.display import Display
from angelia.browsers.chromium.flags import FLAGS, without_window
from angelia.browsers.chromium.pipe import PipeTransport
from angelia.browsers.chromium.program import Chromium, find_chromium, missing_program
from angelia.browsers.chromium.shared_folders import SharedFolders
from angelia.browsers.chromium.wall import no_wall
from angelia.browsers.port import BrowserMissing
from angelia.core.crash import crash_point
from angelia.sandboxes.egress.addresses import Addresses
from angelia.sandboxes.egress.namespace import PORT, HeldCommand
from angelia.sandboxes.egress.proxy import EgressProxy, ProxiedHosts
from angelia.sandboxes.local.bubblewrap import proc_and_dev
from angelia.sandboxes.local.confinement import bubblewrap_program
from angelia.sandboxes.local.processes import MARK
from angelia.sandboxes.local.toolchains import SYSTEM

_SHOWN = (
    *("/etc/fonts", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/alternatives", "/etc/ld.so.cache"),
    *("/etc/chromium.d", "/etc/mime.types", "/etc/localtime", "/var/cache/fontconfig"),
)

_FLAGS = (
    *(*FLAGS, "--proxy-bypass-list=<-loopback>", f"--proxy-server=http://127.0.0.1:{PORT}"),
    # Chromium's sandbox does not hold what speaks to the network on Linux, even where it has a process of its own: that
    # takes 10 MB, in each conversation. A second zygote and shaders kept on a disk that is memory take one more.
    *("--enable-features=NetworkServiceInProcess2", "--no-unsandboxed-zygote", "--disable-gpu-shader-disk-cache"),
)
_HOME = "/home/browser"


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
            await until_ended(self._process)
        finally:
            self.folders.close()
            await self._network.close()


def why_not(display: Display | None = None) -> BrowserMissing | None:
    """Why no browser is started behind a wall here; None if one is, which with `display` can show a window."""
    if missing := missing_program(window=display is not None):
        return missing
    if found := no_wall():
        what = "A window of the browser is" if display is not None else "This browser is"
        return BrowserMissing(
            f"{what} only opened behind a wall, and this machine has none: {found.why}.",
            "Pages could otherwise reach this machine's own network.",
            f"To mend it, {found.mend}; `angelia doctor` says whether it holds.",
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
    if missing := await asyncio.to_thread(why_not, display):
        raise missing
    assert chromium is not None  # it is why there would be none
    proxy, folders = EgressProxy(addresses), SharedFolders(its_user())
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
                await asyncio.shield(end_now(process))
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
    with seen.cookie() as cookie:
        argv = _argv(seen, cookie, held, folders)
        others = (*held.descriptors, *((cookie,) if cookie >= 0 else ()))
        return start_on_pipe(argv, {MARK: folders.mark}, (reading, writing), others)


def _argv(seen: "ShownChromium", cookie: int, held: HeldCommand, folders: SharedFolders) -> list[str]:
    env = {"HOME": _HOME, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": "/tmp"}  # noqa: S108 - its own
    chromium, display = seen.chromium, seen.display
    if display is not None:
        env |= display.variables(_HOME)
        shown = [f"--ozone-platform={display.platform}"]
    else:
        shown = [*without_window(chromium)]
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
