"""A page's picture goes to a chat as a photo, byte for byte; a day later those that nobody was sent are let go."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.ids import wall_clock
from angelia.core.principal import OWNER
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.channels.network import Thing
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from angelia.testing.networks.telegram_server import TelegramServer
from tests.browsers.site import Site
from tests.chats.gateway_lives import ANSWER, Story, results_in
from tests.nursery import Nursery

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

HOUR_MS = 3_600_000
ASKED = "Screenshot both pages and send me the second."
NETWORK = 'network = "on"\n[policy]\nallow_ranges = ["127.0.0.0/8"]'


def script(site: Site, request: ReceivedRequest) -> Step:
    """Looks at two pages, and sends the second picture."""
    told = results_in(request)
    steps = (
        call("browser_open", {"url": site.url("/one", host="127.0.0.1")}),
        call("browser_look", {"picture": True}),
        call("browser_open", {"url": site.url("/two", host="127.0.0.1")}),
        call("browser_look", {"picture": True}),
    )
    if len(told) < len(steps):
        return steps[len(told)]
    if len(told) == len(steps):
        named = re.findall(r"blob:[0-9a-f]+", told[-1])
        return call("send_file", {"path": named[-1]})
    return say(ANSWER)


async def test_the_picture_that_was_asked_for_arrives_as_it_is_and_the_other_goes_after_a_day(
    site: Site, tmp_path: Path
) -> None:
    site.pages |= {"/one": "<h1>One</h1>", "/two": "<h1 style='color:red'>Two</h1>"}
    async with (
        ModelServer(lambda request: script(site, request)) as server,
        TelegramServer() as network,
        Nursery() as nursery,
    ):
        story = Story(tmp_path, server, network, NETWORK)
        await network.bring(Thing(IncomingKind.TEXT, story.where, ASKED))
        await story.live(nursery)
    (photo,) = [one for one in network.arrived if one.data]
    assert photo.kind is Kind.PHOTO
    later = wall_clock() + 25 * HOUR_MS
    app = await App.open(load(story.home, story.env), story.env, lambda: later)
    try:
        (conversation,) = [one.id for one in await app.transcript.conversations(OWNER, 5)]
        entries = await app.transcript.entries(conversation)
        first, second = [
            part
            for entry in entries
            if isinstance(entry.fact, e.ToolFinished)
            for part in entry.fact.parts
            if isinstance(part, Media)
        ]
        assert sha256(photo.data).hexdigest() == second.blob.sha256
        assert await app.screenshots.let_go(app.clock()) == 1
        assert [await app.blobs.has(one.blob) for one in (first, second)] == [False, True]
        (gone,) = [
            entry.fact for entry in await app.transcript.entries(conversation) if isinstance(entry.fact, e.BytesLetGo)
        ]
        assert [one.sha256 for one in gone.pictures] == [first.blob.sha256]
    finally:
        await app.close()
