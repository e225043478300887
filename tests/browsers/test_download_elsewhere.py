"""Downloads of a browser that runs elsewhere: whole, over its debugger's own connection, or it is said why not."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.browsers.address import plain_address
from angelia.browsers.chromium import downloads
from angelia.browsers.chromium.awaited_file import AwaitedFile
from angelia.browsers.port import BrowserGone
from angelia.core.content import CallStatus, Media
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.elsewhere import started_elsewhere
from tests.browsers.file_server import FileServer, chunked, measured
from tests.browsers.test_elsewhere import addresses, carried

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

BYTES = bytes(range(256)) * 6_000
ATTACHED = 'content-disposition: attachment; filename="../../the invoice.bin"'
ZIP = "content-type: application/zip"
BLOB = """<button onclick='const made = window.URL.createObjectURL(new Blob([bytes])), a = document.createElement("a");
a.href = made; a.download = "made.bin"; a.click(); window.URL.revokeObjectURL(made)'>Export</button>"""
BEFORE = """<a id=a download=before.bin>Get</a><script>a.href = URL.createObjectURL(new Blob([bytes]))</script>"""
DATA = """<button onclick='const a = document.createElement("a"); a.download = "data.bin"; let all = "";
for (const one of bytes) all += String.fromCharCode(one);
a.href = "data:application/octet-stream;base64," + btoa(all); a.click()'>Export</button>"""
MAKES = "<script>const bytes = new Uint8Array(1536000).map((_, at) => at % 256)</script>"


@pytest.fixture(scope="module")
async def port(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[int]:
    """Of somebody's browser, for all tests of the file."""
    async with started_elsewhere(tmp_path_factory.mktemp("theirs")) as found:
        yield found


@pytest.fixture
async def server() -> AsyncIterator[FileServer]:
    """One that serves files as they should be, and otherwise."""
    async with FileServer.started() as made:
        yield made


async def opened(port: int, folder: Path) -> ToolHarness:
    """The tools, over the browser at that port."""
    (folder / "w").mkdir()
    sandbox = LocalSandbox(folder / "w", home=folder / "home", state=folder / "state")
    harness = ToolHarness(folder / "w", sandbox, [BrowserTools(plain_address(f"http://127.0.0.1:{port}"))])
    harness.addresses = addresses
    await harness.open()
    return harness


@pytest.fixture
async def tools(port: int, tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """The tools, over that browser."""
    harness = await opened(port, tmp_path)
    yield harness
    await harness.close()


def nothing_is_kept(tools: ToolHarness) -> bool:
    """Whether neither the sandbox nor the store has any of it."""
    return not [*tools.root.iterdir()] and not tools.blobs.kept


async def refused(tools: ToolHarness, server: FileServer, page: str) -> str:
    """What is said of a download of which nothing may be left."""
    server.answers["/"] = measured(page.encode())
    found = re.search(r"\[(e\d+)\]", await tools.said("browser_open", url=server.url()))
    assert found
    said = await tools.said("browser_act", CallStatus.ERROR, steps=(Step("download", found[1], "got.bin"),))
    assert nothing_is_kept(tools)
    assert "held back: the download" not in said, "that was asked for"
    return said


@pytest.mark.soak(every=2)
@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("<a href=/attached>Get</a>", "the invoice.bin"),
        ("<a href=/attached target=_blank>Get</a>", "the invoice.bin"),
        ("<a href=/zip>Get</a>", "zip.zip"),
        ("<a href=/chunked>Get</a>", "chunked.zip"),
        ("<a href=/page download=mine.html>Get</a>", "mine.html"),
        ("<a href=/led download>Get</a>", "the invoice.bin"),
        ("<form method=post action=/attached><button>Get</button></form>", "the invoice.bin"),
        ("<a href=/attached target=inner>Get</a><iframe name=inner></iframe>", "the invoice.bin"),
        (f"{MAKES}{BLOB}", "made.bin"),
        (f"{MAKES}{BEFORE}", "before.bin"),
        (f"{MAKES}{DATA}", "data.bin"),
    ],
)
async def test_a_download_elsewhere_arrives_whole_however_the_page_begins_it(
    tools: ToolHarness, server: FileServer, page: str, name: str
) -> None:
    server.answers |= {
        "/": measured(f"{page}<p>Words".encode()),
        "/attached": measured(BYTES, ATTACHED),
        "/zip": measured(BYTES, ZIP),
        "/chunked": chunked(BYTES, ZIP),
        "/page": measured(BYTES),
        "/led": b"HTTP/1.1 302 Found\r\nlocation: /attached\r\ncontent-length: 0\r\n\r\n",
    }
    await tools.said("browser_open", url=server.url())
    outcome = await tools.run("browser_act", steps=(Step("download", "e1", "got/file.bin"),))
    assert "1. download e1: done, " in text_of(outcome), text_of(outcome)
    (media,) = [part for part in outcome.parts if isinstance(part, Media)]
    assert (media.name, media.blob.sha256) == (name, hashlib.sha256(BYTES).hexdigest())
    assert (tools.root / "got/file.bin").read_bytes() == BYTES
    assert "Words" in await tools.said("browser_look"), "the page is where it was"


async def test_a_download_out_of_a_frame_of_another_site_arrives_too(tools: ToolHarness, server: FileServer) -> None:
    inner = f"http://inner-site.example:{server.port}"
    server.answers |= {
        "/": measured(f"<iframe src={inner}/inner></iframe>".encode()),
        "/inner": measured(b"<a href=/attached>Get</a>"),
        "/attached": measured(BYTES, ATTACHED),
    }
    await tools.said("browser_open", url=server.url())
    assert "f1e1" in await tools.said("browser_look")
    await tools.said("browser_act", steps=(Step("download", "f1e1", "got.bin"),))
    assert (tools.root / "got.bin").read_bytes() == BYTES


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (measured(BYTES, ATTACHED)[:-1_000], "broke off after 1535000 of 1536000 bytes"),
        (chunked(BYTES, ATTACHED)[:-1_000], "broke off after "),
        (chunked(BYTES, ATTACHED)[:-5], "broke off after 1536000 bytes"),
        (measured(BYTES, ATTACHED)[: -len(BYTES)], "broke off after 0 of 1536000 bytes"),
    ],
    ids=["by its length", "in a chunk", "before the last chunk", "at once"],
)
async def test_a_download_elsewhere_whose_connection_is_cut_is_told_and_nothing_of_it_is_left(
    tools: ToolHarness, server: FileServer, answer: bytes, said: str
) -> None:
    server.answers["/cut"] = answer
    for link in ("<a href=/cut>Get</a>", "<a href=/cut download>Get</a>"):
        assert said in await refused(tools, server, link)


@pytest.mark.parametrize(
    "page",
    [
        "<a href=/attached>Get</a>",
        "<a href=/promised>Get</a>",
        "<a href=/chunked>Get</a>",
        f"{MAKES}{BLOB}",
        f"{MAKES}{DATA}",
    ],
)
async def test_a_download_elsewhere_over_the_bound_is_not_taken_and_the_bound_is_said(
    tools: ToolHarness, server: FileServer, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("angelia.tools.browser.page_files.MOST", 1_000_000)
    server.answers |= {"/attached": measured(BYTES, ATTACHED), "/chunked": chunked(BYTES, ATTACHED)}
    server.answers["/promised"] = measured(BYTES, ZIP)[: -len(BYTES)]
    server.held.add("/promised")  # it is too large before a byte of it has come
    assert "is over 1 MB, which is the most that is taken" in await refused(tools, server, page)


async def test_what_comes_instead_of_a_download_elsewhere_is_said(
    tools: ToolHarness, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "BEGIN_S", 1.0)
    server.answers |= {"/page": measured(b"Other words"), "/cut": b""}
    assert "/none was answered with 404" in await refused(tools, server, "<a href=/none download>Get</a>")
    assert "/cut could not be loaded: " in await refused(tools, server, "<a href=/cut download>Get</a>")
    shown = await refused(tools, server, "<a href=/page>Get</a>")
    assert "timed out: Nothing was downloaded within 1 s" in shown
    assert "Other words" in shown


async def test_a_download_elsewhere_that_stands_still_is_given_up(
    tools: ToolHarness, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "STALLED_S", 1.0)
    server.answers["/held"] = chunked(BYTES, ATTACHED)[:-1_000]
    server.held.add("/held")
    said = await refused(tools, server, "<a href=/held>Get</a>")
    assert "timed out: The download of ../../the invoice.bin stood still for 1 s after " in said


async def test_a_download_elsewhere_goes_to_no_site_to_which_nobody_said_yes(
    tools: ToolHarness, server: FileServer
) -> None:
    there = f"http://other.example:{server.port}"
    server.answers |= {
        "/attached": measured(BYTES, ATTACHED),
        "/led": f"HTTP/1.1 302 Found\r\nlocation: {there}/attached\r\ncontent-length: 0\r\n\r\n".encode(),
    }
    for page in (f"<a href={there}/attached>Get</a>", "<a href=/led>Get</a>", "<a href=/led download>Get</a>"):
        said = await refused(tools, server, page)
        assert f"refused: Nothing was downloaded: nobody has said yes to {there} yet" in said
    assert "/attached" not in server.asked
    said = await refused(tools, server, "<a href=http://forbidden.example/x download>Get</a>")
    assert "refused: Nothing was downloaded: " in said


async def test_what_nobody_asked_for_is_not_taken_elsewhere_either_and_that_is_told(
    tools: ToolHarness, server: FileServer
) -> None:
    """Nor is it read, however long it is: what these files are is known without."""
    server.answers["/"] = measured(b"<a href=/attached>A</a><a href=/zip>B</a>")
    server.answers |= {"/attached": chunked(BYTES, ATTACHED)[:-1_000], "/zip": chunked(BYTES, ZIP)[:-1_000]}
    server.held |= {"/attached", "/zip"}
    await tools.said("browser_open", url=server.url())
    for ref, name in (("e1", "the invoice.bin"), ("e2", "zip.zip")):
        acted = await tools.said("browser_act", steps=(Step("click", ref),))
        assert f"{name}: ask for it by a download step" in acted
    assert nothing_is_kept(tools)


async def test_a_page_that_moves_on_while_a_download_comes_ends_it(tools: ToolHarness, server: FileServer) -> None:
    leaves = "<script>const go = () => fetch('/begun').then(() => location = '/next')</script>"
    server.answers |= {
        "/held": chunked(BYTES * 3, ATTACHED)[:-1_000],
        "/next": measured(b"Other words"),
        "/begun": measured(b""),
    }
    server.held.add("/held")
    server.waits["/begun"] = asyncio.Event()
    refusing = asyncio.ensure_future(refused(tools, server, f"{leaves}<a href=/held onclick=go()>Get</a>"))
    await until_some_has_come(tools)
    server.waits["/begun"].set()
    assert "not loaded: The download of ../../the invoice.bin broke off" in await refusing


async def until_some_has_come(tools: ToolHarness) -> None:
    """Until a person was shown that some of the file has."""
    async with asyncio.timeout(60):
        while not any(" MB" in str(one) for one in tools.seen):  # noqa: ASYNC110 - it is looked at
            await asyncio.sleep(0.05)


async def test_a_download_of_which_nobody_says_that_it_is_whole_is_not_taken(
    tools: ToolHarness, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if that browser held a page's requests in the other order: then no session of ours hears how it ends."""
    monkeypatch.setattr(AwaitedFile, "passes", lambda *_: False)
    server.answers["/chunked"] = chunked(BYTES, ATTACHED)
    said = await refused(tools, server, "<a href=/chunked>Get</a>")
    assert "gave no length, and the browser does not say whether the 1536000 bytes are all" in said


async def test_what_a_browser_asks_for_beside_is_taken_for_no_file() -> None:
    """Such as a page's icon: neither if it comes nor if it does not."""
    awaited = AwaitedFile()
    icon = {"requestId": "1", "resourceType": "Other", "request": {"url": "http://site.example/icon.zip"}}
    assert not awaited.passes("s1", {**icon, "responseStatusCode": 200})
    assert not awaited.passes("s1", {**icon, "responseStatusCode": 404})
    awaited.failed("s1", {**icon, "responseErrorReason": "Failed"})
    assert not awaited.found.done()
    assert awaited.passes("s1", {**icon, "requestId": "2", "resourceType": "Document", "responseStatusCode": 200})


async def test_what_only_the_browser_itself_takes_for_a_file_is_told(tools: ToolHarness, server: FileServer) -> None:
    server.answers["/sound"] = measured(BYTES, "content-type: audio/x-of-nobody")
    said = await refused(tools, server, "<a href=/sound>Get</a>")
    assert f"which it may not. Use fetch for {server.url('/sound')}" in said


async def test_what_a_page_lets_nobody_read_is_told(tools: ToolHarness, server: FileServer) -> None:
    page = f"<meta http-equiv=Content-Security-Policy content=\"connect-src 'self'\">{MAKES}{BEFORE}"
    said = await refused(tools, server, page)
    assert "before.bin was made by the page itself, which does not let it be read" in said


async def test_a_connection_to_the_browser_that_ends_within_a_download_leaves_nothing_of_it(
    port: int, server: FileServer, tmp_path: Path
) -> None:
    """As the machine of the browser that goes away."""
    writers: list[asyncio.StreamWriter] = []

    async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, far_writer))
        await asyncio.gather(carried(reader, far_writer), carried(far_reader, writer), return_exceptions=True)

    async with await asyncio.start_server(through, "127.0.0.1", 0) as listening:
        tools = await opened(listening.sockets[0].getsockname()[1], tmp_path)
        server.answers |= {
            "/": measured(b"<a href=/held>Get</a>"),
            "/held": chunked(BYTES * 3, ATTACHED)[:-1_000],
        }
        server.held.add("/held")
        await tools.said("browser_open", url=server.url())
        acting = asyncio.ensure_future(tools.run("browser_act", steps=(Step("download", "e1", "got.bin"),)))
        await until_some_has_come(tools)
        for writer in writers:
            writer.close()
        with pytest.raises(BrowserGone):
            await acting
        assert nothing_is_kept(tools)
        await tools.close()
