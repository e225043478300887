"""What a server's tool gives back becomes the parts of a result, in order, and nothing of it is dropped unsaid."""

import base64
import zlib
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from angelia.core.content import CallStatus, Media, MediaKind, Text
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.model.pictures import one_colour
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.mcp.png import without_damaged_extras
from angelia.tools.mcp.results import SHOWN, outcome_of
from angelia.tools.port import ToolOutcome

pytestmark = pytest.mark.anyio

PNG = one_colour("red")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def came(bench: ToolHarness, *blocks: Any, **more: Any) -> ToolOutcome:
    return await outcome_of(types.CallToolResult(content=list(blocks), **more), bench.context())


@pytest.fixture
def bench(tmp_path: Path) -> ToolHarness:
    return ToolHarness(tmp_path, LocalSandbox(tmp_path, home=tmp_path / "own", state=tmp_path / "run"))


async def test_words_pictures_recordings_and_files_come_in_their_order(bench: ToolHarness) -> None:
    outcome = await came(
        bench,
        types.TextContent(type="text", text="Look:"),
        types.ImageContent(type="image", data=encoded(PNG), mime_type="image/png"),
        types.AudioContent(type="audio", data=encoded(b"OggSound"), mime_type="audio/ogg"),
        types.ResourceLink(type="resource_link", name="plan", uri="file:///plan.txt", mime_type="text/plain"),
        types.EmbeddedResource(
            type="resource",
            resource=types.TextResourceContents(uri="note://1", text="Dig here.", mime_type="text/plain"),
        ),
        types.EmbeddedResource(
            type="resource", resource=types.BlobResourceContents(uri="note://1/x.bin", blob=encoded(b"\x00\x01"))
        ),
    )
    kinds = [part.media if isinstance(part, Media) else part.text for part in outcome.parts]
    assert kinds == [
        "Look:",
        MediaKind.IMAGE,
        MediaKind.AUDIO,
        "plan: file:///plan.txt (text/plain)",
        "note://1:\nDig here.",
        MediaKind.DOCUMENT,
    ]
    assert outcome.status is CallStatus.OK
    assert PNG in bench.blobs.kept.values()


@pytest.mark.parametrize(
    ("data", "why"), [("no base64!", "not base64"), (encoded(b"\x89PNG corrupt"), "cannot be opened")]
)
async def test_a_picture_that_cannot_be_opened_is_said_in_words(bench: ToolHarness, data: str, why: str) -> None:
    outcome = await came(bench, types.ImageContent(type="image", data=data, mime_type="image/png"))
    assert why in text_of(outcome)
    assert "image/png" in text_of(outcome)


async def test_structured_content_is_told_where_no_words_tell_it(bench: ToolHarness) -> None:
    assert text_of(await came(bench, structured_content={"beds": 2})) == '{\n "beds": 2\n}'
    said = await came(bench, types.TextContent(type="text", text="two beds"), structured_content={"beds": 2})
    assert text_of(said) == "two beds"
    assert text_of(await came(bench)) == "(The server gave back nothing.)"


async def test_an_error_of_the_tool_is_one(bench: ToolHarness) -> None:
    outcome = await came(bench, types.TextContent(type="text", text="no water"), is_error=True)
    assert (outcome.status, outcome.parts) == (CallStatus.ERROR, (Text("no water"),))


async def test_a_flood_of_words_is_shortened_and_kept_whole(bench: ToolHarness) -> None:
    outcome = await came(bench, *(types.TextContent(type="text", text=f"{n}" * 30_000) for n in (1, 2)))
    assert len(text_of(outcome)) < SHOWN + 1_000
    assert outcome.full
    assert len(await bench.blobs.get(outcome.full.sha256)) == 60_001
    assert f"blob:{outcome.full.sha256[:12]}" in text_of(outcome)


def chunk(kind: bytes, body: bytes, *, whole: bool = True) -> bytes:
    """One chunk of a PNG."""
    check = zlib.crc32(kind + body) ^ (0 if whole else 1)
    return len(body).to_bytes(4, "big") + kind + body + check.to_bytes(4, "big")


def test_a_damaged_colour_profile_costs_the_profile_and_not_the_picture() -> None:
    head, rest = PNG[:33], PNG[33:]
    text = chunk(b"tEXt", b"Title\0Bed")
    assert without_damaged_extras(head + chunk(b"iCCP", b"x\0\0y", whole=False) + text + rest) == head + text + rest
    for same in (PNG, PNG[:60], b"GIF89a", b"", head + chunk(b"PLTE", b"abc", whole=False) + rest):
        assert without_damaged_extras(same) == same
