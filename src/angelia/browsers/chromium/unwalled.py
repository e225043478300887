"""Starts a Chromium of this machine without a wall around it, where the machine offers none.

Its pages are held by what holds those of a browser elsewhere (`own_context`), so each site is asked about. It keeps its
own sandbox: a machine on which it cannot has no browser. What it stores lies in a folder that goes with it, and of our
environment it gets nothing.

Nothing outlives us: the pipe ends with our process, and the browser with the pipe. Whatever did not hear of it bears
the name of the folder, by which it is ended with the next one.
"""

import asyncio
import os
import re
import subprocess
from functools import partial

from angelia.browsers.chromium.browser_process import end_now, its_user, start_on_pipe, until_ended
from angelia.browsers.chromium.cdp import CdpConnection, ProtocolError
from angelia.browsers.chromium.flags import FLAGS, without_window
from angelia.browsers.chromium.own_context import OwnContext, begin_context
from angelia.browsers.chromium.pipe import PipeTransport
from angelia.browsers.chromium.program import Chromium, find_chromium, missing_program
from angelia.browsers.port import ActFailed, BrowserGone, BrowserMissing
from angelia.core.crash import crash_point
from angelia.core.text import clean, one_line
from angelia.held_folder import OF_BROWSERS, HeldFolder
from angelia.sandboxes.egress.addresses import Addresses
from angelia.sandboxes.local.processes import MARK, end_bearers

_FLAGS = (*FLAGS, "--no-proxy-server", "--use-mock-keychain")
"""The keychain is macOS's, which would ask the person."""
_MOST_SAID = 20_000
_SANDBOX = "No usable sandbox"
"""So Chromium's words begin for this (`zygote_host_impl_linux.cc`)."""
_ELSEWHERE = "or use a browser elsewhere (`browser.address`)."


async def start_unwalled(addresses: Addresses) -> OwnContext:
    """Start one, and begin a context in it; `addresses` says what its pages may reach.

    Raises:
        BrowserMissing: there is none, or it does not start; says why.
    """
    chromium = find_chromium()
    if chromium is None:
        raise missing_program() or BrowserMissing("There is no Chromium on this machine.")
    folder, said = HeldFolder(OF_BROWSERS, end_bearers), _LastWords()
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    try:
        crash_point("browser.before_start")
        process = _begun(chromium, folder, (theirs_in, theirs_out), said.writing)
    except BaseException:
        os.close(ours_in)
        os.close(ours_out)
        said.close()
        folder.close()
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    cdp = CdpConnection(PipeTransport(ours_in, ours_out))
    said.begun()
    try:
        crash_point("browser.started")
        return await begin_context(cdp, addresses, partial(_until_gone, process, folder, said))
    except BaseException as error:
        cdp.close()
        await asyncio.shield(end_now(process))
        await asyncio.shield(_until_gone(process, folder, said))
        if isinstance(error, (ProtocolError, ActFailed, BrowserGone)):
            raise _not_started(said.text() or str(error)) from error
        raise


def _not_started(said: str) -> BrowserMissing:
    what = "The browser of this machine does not start without a wall around it."
    says = f"It says: {one_line(clean(said), 200).rstrip('.')}."
    if _SANDBOX not in said:
        return BrowserMissing(what, says, f"Start it by hand and see, {_ELSEWHERE}")
    why = "It can keep no sandbox of its own here, and is not started without one."
    mend = "Let programs without rights make namespaces, as `angelia doctor` says,"
    return BrowserMissing(what, f"{why} {says}", f"{mend} {_ELSEWHERE}")


def _begun(chromium: Chromium, folder: HeldFolder, pipe: tuple[int, int], errors: int) -> "subprocess.Popen[bytes]":
    home, user = folder.path / "home", its_user()
    home.mkdir(mode=0o700)
    if user:
        folder.path.chmod(0o711)
        os.chown(home, user, user)
    env = {"HOME": str(home), "TMPDIR": str(home), "XDG_RUNTIME_DIR": str(home), MARK: folder.path.name}
    argv = [
        str(chromium.path),
        *without_window(chromium),
        *_FLAGS,
        f"--user-data-dir={home / 'profile'}",
        "about:blank",
    ]
    return start_on_pipe(argv, env | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, pipe, errors=errors)


async def _until_gone(process: "subprocess.Popen[bytes]", folder: HeldFolder, said: "_LastWords") -> None:
    """Wait until nothing of it is left."""
    try:
        await until_ended(process)
    finally:
        await asyncio.to_thread(end_bearers, folder.path.name)
        said.close()
        folder.close()


class _LastWords:
    """What a program says of itself, of which the newest is kept. Its methods belong to one event loop."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        self._said = b""

    def begun(self) -> None:
        """Read on: the program has its end now."""
        os.close(self.writing)
        self.writing = -1
        os.set_blocking(self._reading, False)
        asyncio.get_running_loop().add_reader(self._reading, self._read)

    def text(self) -> str:
        """The line that says most: of its sandbox, or else the last. What it begins with is for developers."""
        lines = self._said.decode(errors="replace").strip().splitlines()
        line = next((line for line in lines if _SANDBOX in line), lines[-1] if lines else "")
        return re.sub(r"^\[\S+\] ", "", line)

    def close(self) -> None:
        """Hear the rest, and no more. Idempotent."""
        if self.writing >= 0:
            os.close(self.writing)
        elif self._reading >= 0:
            self._read()
        self._stop()

    def _stop(self) -> None:
        if self._reading >= 0:
            asyncio.get_running_loop().remove_reader(self._reading)
            os.close(self._reading)
        self._reading = self.writing = -1

    def _read(self) -> None:
        try:
            piece = os.read(self._reading, _MOST_SAID)
        except BlockingIOError:
            return
        self._said = (self._said + piece)[-_MOST_SAID:]
        if not piece:
            self._stop()
