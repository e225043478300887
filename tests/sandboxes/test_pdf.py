"""A PDF that is made in a container arrives byte for byte: in the person's folder, and in an editor as a resource."""

import base64
import hashlib
import io
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from PIL import Image

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, call, say
from tests.acp.editor import Editor
from tests.promise.lives import Place

from .daemon import IMAGE, Daemon

pytestmark = [pytest.mark.anyio, pytest.mark.real("docker")]

NAME = "receipt März.pdf"


def script() -> list[Speak]:
    """A model that writes a PDF by a here-document, appends what only the container knows, and sends it."""
    drawn = io.BytesIO()
    Image.effect_mandelbrot((300, 200), (-2, -1.5, 1, 1.5), 30).convert("RGB").save(drawn, "PDF")
    written = base64.encodebytes(drawn.getvalue()).decode()
    line = f"base64 -d >'{NAME}' <<'END'\n{written}END\n"
    line += f"{{ printf '%% made in '; head -c 16 /dev/urandom; }} >>'{NAME}'; sha256sum <'{NAME}'"
    return [call("shell", {"command": line}), call("send_file", {"path": NAME}), say("Here is the receipt.")]


def settings(docker: Daemon) -> tuple[str, ...]:
    """The bytes are in the container's memory, and nowhere on this machine."""
    spec = f"sandbox.spec=docker:{IMAGE}"
    return (spec, f"sandbox.docker.socket={docker.socket}", "sandbox.docker.workspace=tmpfs")


async def told_inside(place: Place) -> str:
    """The hash that was computed in the container."""
    results = [fact for fact in await place.facts() if isinstance(fact, e.ToolFinished)]
    words = "".join(part.text for part in results[0].parts if isinstance(part, Text))
    found = re.search(r"[0-9a-f]{64}", words)
    assert found is not None, words
    return found[0]


def is_that_pdf(path: Path, sha256: str) -> bool:
    data = path.read_bytes()
    return data.startswith(b"%PDF-") and b"% made in " in data[-40:] and hashlib.sha256(data).hexdigest() == sha256


async def test_in_the_persons_folder(tmp_path: Path, docker: Daemon) -> None:
    async with ModelServer(by_replies(script())) as server:
        place = Place(tmp_path, server, sets=settings(docker))
        ended = await place.ask("Make a PDF of the receipt.")
        assert (ended.status, ended.stdout) == (0, "Here is the receipt.\n"), ended.stderr
        (arrived,) = (place.home / "outbox").iterdir()
        assert arrived.name == NAME
        assert is_that_pdf(arrived, await told_inside(place))
        (sent,) = [part for fact in await place.facts() if isinstance(fact, e.DeliveryQueued) for part in fact.parts][
            :1
        ]
        assert isinstance(sent, Media)
        assert (sent.blob.mime, sent.name) == ("application/pdf", NAME)
        assert not list(place.workspace.iterdir())
    assert docker.containers() == []


async def test_in_an_editor(tmp_path: Path, docker: Daemon) -> None:
    async with (
        ModelServer(by_replies(script())) as server,
        Editor(Place(tmp_path, server, sets=settings(docker))) as editor,
    ):
        await editor.hello()
        assert await editor.prompt(await editor.new(), "Make a PDF of the receipt.") == "end_turn"
        (link,) = [one["content"] for one in editor.all("agent_message_chunk") if one["content"]["type"] != "text"]
        assert (link["name"], link["mimeType"]) == (NAME, "application/pdf")
        arrived = Path(unquote(urlsplit(link["uri"]).path))
        assert is_that_pdf(arrived, await told_inside(editor.place))
        assert link["size"] == arrived.stat().st_size
    assert docker.containers() == []
