"""Downloads and uploads: what was asked for arrives whole, and nothing else is taken."""

import asyncio
import hashlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from angelia.browsers.chromium import downloads
from angelia.browsers.chromium.shared_folders import SharedFolders
from angelia.browsers.port import ActFailed
from angelia.core.content import CallStatus, Media
from angelia.policy.verdict import ReadPath, SeePage, SendTo, WritePath
from angelia.sandboxes.local.processes import MARK
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.browser.act_on_page import Step
from tests.browsers.site import Site

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

PDF = "%PDF-1.4 " + "may " * 5000
ASKING = "<input type=file aria-label=CV onchange='seen.textContent = this.files[0].size'><p id=seen></p>"
NEVER_THERE = """<button onclick='const i = document.createElement("input"); i.type = "file";
i.onchange = () => seen.textContent = i.files[0].name + i.files[0].size; i.click()'>Attach</button><p id=seen></p>"""


def attached(site: Site, path: str, name: str, body: str) -> None:
    """What is served as a file to be kept."""
    site.pages[path] = body
    site.headers[path] = f'content-disposition: attachment; filename="{name}"\r\n'


async def act(tools: ToolHarness, *steps: Step, status: CallStatus = CallStatus.OK) -> str:
    return await tools.said("browser_act", status, steps=steps)


async def test_a_download_is_measured_kept_and_put_where_it_was_asked_for(
    tools: ToolHarness, site: Site, tmp_path: Path
) -> None:
    attached(site, "/may", "../../may invoice.pdf", PDF)
    site.pages["/"] = "<a href=/may>Invoice</a>"
    await tools.run("browser_open", url=site.url())
    step = Step("download", "e1", "invoices/may.pdf")
    effects: Sequence[object] = await tools.effects("browser_act", steps=(step,))
    at = str((tmp_path / "w/invoices/may.pdf").resolve())
    assert list(effects) == [SeePage(site.url("")), SendTo(site.url(""), "download"), WritePath("invoices/may.pdf", at)]
    outcome = await tools.run("browser_act", steps=(step,))
    (media,) = [part for part in outcome.parts if isinstance(part, Media)]
    assert media.blob.sha256 == hashlib.sha256(PDF.encode()).hexdigest()
    assert "/" not in media.name
    assert (tmp_path / "w/invoices/may.pdf").read_text() == PDF
    assert "1. download e1: done, " in text_of(outcome)
    assert "put at invoices/may.pdf" in text_of(outcome)
    again = await act(tools, step, status=CallStatus.ERROR)
    assert "There is a file at invoices/may.pdf already" in again


async def test_what_nobody_asked_for_is_not_taken_and_that_is_told(tools: ToolHarness, site: Site) -> None:
    attached(site, "/evil", "evil.sh", "rm -rf /")
    site.pages["/"] = "<a href=/evil>Read on</a>"
    await tools.run("browser_open", url=site.url())
    acted = await act(tools, Step("click", "e1"))
    assert "held back: the download of evil.sh: ask for it by a download step" in acted


async def test_a_click_that_downloads_nothing_says_so(
    tools: ToolHarness, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "BEGIN_S", 0.5)
    site.pages["/"] = "<button>No</button>"
    await tools.run("browser_open", url=site.url())
    acted = await act(tools, Step("download", "e1"), status=CallStatus.ERROR)
    assert "1. download e1: timed out: Nothing was downloaded within 0.5 s" in acted


async def test_what_is_too_large_or_breaks_off_is_said(
    tools: ToolHarness, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(site, "/large", "large.bin", "x" * 300_000)
    attached(site, "/cut", "cut.bin", "x" * 300_000)
    site.cut.add("/cut")
    site.pages["/"] = "<a href=/large>L</a><a href=/cut>C</a>"
    await tools.run("browser_open", url=site.url())
    cut = await act(tools, Step("download", "e2"), status=CallStatus.ERROR)
    assert "not loaded: The download of cut.bin broke off" in cut
    monkeypatch.setattr("angelia.tools.browser.page_files.MOST", 100_000)
    large = await act(tools, Step("download", "e1"), status=CallStatus.ERROR)
    assert "not possible: large.bin is over 0 MB" in large


@pytest.mark.parametrize("page", [ASKING, NEVER_THERE])
async def test_an_upload_arrives_whole_wherever_the_input_is(
    tools: ToolHarness, site: Site, tmp_path: Path, page: str
) -> None:
    (tmp_path / "w/cv.txt").write_text("plum" * 1000)
    site.pages["/"] = page
    await tools.run("browser_open", url=site.url())
    step = Step("upload", "e1", "cv.txt")
    effects: Sequence[object] = await tools.effects("browser_act", steps=(step,))
    assert list(effects) == [
        SeePage(site.url("")),
        SendTo(site.url(""), "upload", ("cv.txt",)),
        ReadPath("cv.txt", str((tmp_path / "w/cv.txt").resolve())),
    ]
    acted = await act(tools, step)
    assert "1. upload e1: done, cv.txt (4.0 kB)" in acted
    assert "4000" in acted


async def test_what_is_not_there_or_asks_for_no_file_is_said(tools: ToolHarness, site: Site, tmp_path: Path) -> None:
    (tmp_path / "w/cv.txt").write_text("plum")
    site.pages["/"] = "<button>No</button>"
    await tools.run("browser_open", url=site.url())
    assert "none.txt cannot be uploaded" in await act(tools, Step("upload", "e1", "none.txt"), status=CallStatus.ERROR)
    refused = await act(tools, Step("upload", "e1", "cv.txt"), status=CallStatus.ERROR)
    assert "e1 does not ask for a file" in refused


async def test_what_a_killed_life_left_is_taken_away_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    in_use = SharedFolders(0)
    left = tmp_path / "angelia-browser-left"
    (left / "down").mkdir(parents=True)
    (left / "down/private.pdf").write_text("mine")
    young, never_named = tmp_path / ".angelia-browser-young", tmp_path / ".angelia-browser-old"
    young.mkdir()
    never_named.mkdir()
    os.utime(never_named, (0, 0))
    (tmp_path / "angelia-browser-link").symlink_to(tmp_path / "else")
    (tmp_path / "else").mkdir()
    begun = [await asyncio.create_subprocess_exec("sleep", "1000", env={MARK: it}) for it in (left.name, in_use.mark)]
    SharedFolders(0).close()
    assert await asyncio.wait_for(begun[0].wait(), 20) == -signal.SIGKILL
    assert begun[1].returncode is None
    begun[1].kill()
    await begun[1].wait()
    assert not left.exists()
    assert not never_named.exists()
    assert young.exists()
    assert (tmp_path / "else").exists()
    await in_use.put(nothing(), "a")
    in_use.close()
    assert len(list(tmp_path.iterdir())) == 3


async def nothing() -> AsyncIterator[bytes]:
    """One empty piece."""
    yield b""


async def test_what_a_browser_lays_there_is_only_read_if_it_is_a_file(tmp_path: Path) -> None:
    folders = SharedFolders(0)
    down = Path(next(word for word in folders.mounts() if word.endswith("/down")))
    (tmp_path / "secret").write_text("plum")
    (down / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(down / "fifo")
    try:
        for name in ("link", "fifo", "nothing"):
            with pytest.raises(ActFailed):
                await anext(folders.get(name))
    finally:
        folders.close()
