"""What only the person can do: the turn waits, they see the page, and the model goes on with what has changed."""

import asyncio
from pathlib import Path

import pytest

from angelia.channels.incoming import Pressed
from angelia.core import entry as e
from angelia.service.chats.open_channel import wait
from angelia.testing.channels.recording_channel import FarEnd, RecordedMessage
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.browsers.site import Site
from tests.chats.town import BEN, town

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

SETS = ('policy.allow_ranges=["127.0.0.0/8"]', "sandbox.network=on")
BANK = """<h1>Bank</h1><p id=out>Confirm on your phone.</p><script>
const ask = async () => { if (!(await fetch('/confirmed')).ok) return setTimeout(ask, 50);
  out.textContent = 'Welcome, Ann.'; fetch('/shown') }; ask()</script>"""


def asked(far: FarEnd, chat: str = "7") -> list[RecordedMessage]:
    """The messages with something to press."""
    return [one for one in far.in_chat(chat) if one.buttons]


def script(site: Site) -> list[Step]:
    return [
        call("browser_open", {"url": site.url(host="127.0.0.1")}),
        call("browser_hand_over", {"why": "Please confirm the login on your phone."}),
        say("You are in."),
    ]


async def test_a_chat_gets_the_picture_and_a_button_and_the_model_what_changed(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = BANK
    far = FarEnd()
    async with ModelServer(script(site)) as server, town(tmp_path, server, far, sets=SETS) as life:
        await life.says("Log in at the bank.")
        await far.when(lambda far: bool(asked(far)))
        (question,) = asked(far)
        assert "Please confirm the login on your phone." in question.text
        assert f"http://127.0.0.1:{site.port}" in question.text
        assert [one.label for one in question.buttons] == ["Done", "I cannot"]
        (picture,) = [one for one in far.in_chat("7") if one.file is not None]
        assert picture.file is not None
        assert picture.file[8:12] == b"WEBP"
        site.pages["/confirmed"] = "yes"
        async with asyncio.timeout(30):
            while "GET /shown HTTP/1.1" not in site.asked:
                await wait(None, 0.01)
        await life.says(Pressed(question.buttons[0].value))
        await far.when(lambda far: "You are in." in far.texts("7"))
        told = server.requests[2].raw.decode()
        assert "The user answered: Done" in told
        assert "+ Welcome, Ann." in told
        facts = await life.facts()
        stored = next(fact for fact in facts if isinstance(fact, e.ApprovalAsked))
        assert stored.picture is not None
        assert stored.picture.name == "127.0.0.1.webp"


async def test_words_are_an_answer_too(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = "<h1>Type the letters</h1>"
    far = FarEnd()
    async with ModelServer(script(site)) as server, town(tmp_path, server, far, sets=SETS) as life:
        await life.says("Log in at the bank.")
        await far.when(lambda far: bool(asked(far)))
        await life.says("/approve K7WQ")
        await far.when(lambda far: "You are in." in far.texts("7"))
        told = server.requests[2].raw.decode()
        assert "The user answered: K7WQ" in told
        assert "Nothing in view has changed." in told


@pytest.mark.soak
async def test_a_page_is_handed_over_in_its_owners_own_turn_alone(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = "<h1>Ann's account</h1>"
    far = FarEnd()
    opening, handing, ending = script(site)
    steps: list[Step] = [opening, say("Open."), handing, ending]
    async with ModelServer(steps) as server, town(tmp_path, server, far, sets=SETS) as life:
        await life.says("Open it.", chat="g", private=False)
        await far.when(lambda far: "Open." in far.texts("g"))
        await life.says("Show me Ann's account.", chat="g", sender=BEN, private=False)
        await far.when(lambda far: "You are in." in far.texts("g"))
        assert "in a turn of their own" in server.requests[-1].raw.decode()
        assert not [one for one in far.in_chat("g") if one.file is not None or one.buttons]


async def test_a_browser_that_is_gone_by_the_time_of_the_answer_is_told(site: Site, tmp_path: Path) -> None:
    """As after a restart: nothing is opened, and the model hears that there is no page any more."""
    site.pages["/"] = "<h1>Type the letters</h1>"
    far = FarEnd()
    async with ModelServer(script(site)) as server:
        async with town(tmp_path, server, far, sets=SETS) as life:
            await life.says("Log in at the bank.")
            await far.when(lambda far: bool(asked(far)))
        async with town(tmp_path, server, far, sets=SETS) as life:
            await life.says(Pressed(asked(far)[0].buttons[0].value))
            await far.when(lambda far: "You are in." in far.texts("7"))
            assert "Open a page first" in server.requests[2].raw.decode()
        assert len([line for line in site.asked if line.startswith("GET / ")]) == 1
