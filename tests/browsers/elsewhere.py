"""A browser that somebody else has started, with a debugging port and a tab of theirs; every name is this machine."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from angelia.browsers.chromium.program import find_chromium

THEIRS = "data:text/html,<title>Their own tab</title>"


@asynccontextmanager
async def started_elsewhere(folder: Path, *, whole: bool = False, path: str = "") -> AsyncIterator[int]:
    """Its debugging port; `folder` is its profile. `whole`: one that is more than a shell; `path` is looked through for
    programs before the others.
    """
    chromium = find_chromium(window=whole)
    assert chromium is not None
    process = await asyncio.create_subprocess_exec(
        str(chromium.path),
        *(() if chromium.shell else ("--headless=new",)),
        *("--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={folder}", "--no-first-run", "--disable-gpu"),
        *(
            "--host-resolver-rules=MAP * 127.0.0.1",
            "--disable-features=WebRtcHideLocalIpsWithMdns,LocalNetworkAccessChecks",
        ),
        *("--site-per-process", "--disable-dev-shm-usage", THEIRS),
        env=dict(os.environ, PATH=f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Debian's is a script, which its browser would outlive
    )
    try:
        yield await _told_port(process, folder)
    finally:
        await _ended(process)


async def _told_port(process: asyncio.subprocess.Process, folder: Path) -> int:
    said = folder / "DevToolsActivePort"
    async with asyncio.timeout(60):
        while not said.exists() or "\n" not in said.read_text():
            assert process.returncode is None, "it did not start"
            await asyncio.sleep(0.05)
    return int(said.read_text().split("\n")[0])


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


@asynccontextmanager
async def opened_by_its_person(folder: Path, screen: str) -> AsyncIterator[int]:
    """A browser with a window whose person has said at chrome://inspect/#remote-debugging that debuggers may ask."""
    folder.mkdir()
    (folder / "Local State").write_text('{"devtools": {"remote_debugging": {"user-enabled": true}}}')
    chromium = find_chromium(window=True)
    assert chromium is not None
    process = await asyncio.create_subprocess_exec(
        str(chromium.path),
        *("--no-sandbox", f"--user-data-dir={folder}", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--host-resolver-rules=MAP * 127.0.0.1", "--disable-component-update", THEIRS),
        env=dict(os.environ, DISPLAY=screen),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield await _told_port(process, folder)
    finally:
        await _ended(process)
