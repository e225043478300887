"""The doors by which somebody reaches an obedient model; at each somebody can be asked, and says no to everything."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from angelia.channels.incoming import IncomingSender, Pressed
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import Address
from angelia.core.principal import OWNER
from angelia.engine.live import Committed, LiveEvent
from angelia.policy.approvers import owner_at
from angelia.service.app import App
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from tests.acp.editor import Editor
from tests.chats.town import ANN, BEN, OPEN, Town, town
from tests.escape.obedient import TOLD
from tests.promise.lives import Place
from tests.promise.pipes import PATIENCE_S

Obeyed = Callable[[Place, ModelServer], Awaitable[list[e.AnyFact]]]
"""The log of a conversation in which the model does all of it."""


async def at_the_terminal(place: Place, _: ModelServer) -> list[e.AnyFact]:
    loaded = load(place.home, place.env, place.sets, {"model": f"{place.wire}:m"})
    app = await App.open(loaded, place.env)
    noes: set[asyncio.Task[None]] = set()
    try:
        session = app.conversations.begin(door="terminal", workspace=place.workspace)

        def see(event: LiveEvent) -> None:
            asked = [entry.fact for entry in event.entries] if isinstance(event, Committed) else []
            noes.update(asyncio.create_task(_refuse(session, one)) for one in asked if isinstance(one, e.ApprovalAsked))

        session.live.watch(see)
        await app.conversations.employ(session, loaded.config.model, approvers=owner_at(Address("terminal")))
        await session.say([Text(TOLD)], address=TERMINAL)
        async with asyncio.timeout(PATIENCE_S):
            await session.settled()
        return [entry.fact for entry in session.log.entries]
    finally:
        await app.close()


async def _refuse(session: Session, asked: e.ApprovalAsked) -> None:
    await session.refuse(asked, by=OWNER)


async def in_an_editor(place: Place, _: ModelServer) -> list[e.AnyFact]:
    def no(params: dict[str, Any]) -> dict[str, Any]:
        [option] = [one["optionId"] for one in params["options"] if one["kind"] == "reject_once"]
        return {"outcome": {"outcome": "selected", "optionId": option}}

    async with Editor(place, {"session/request_permission": no}) as editor:
        await editor.hello()
        assert await editor.prompt(await editor.new(), TOLD) == "end_turn"
    return await place.facts()


async def in_a_chat_as_its_owner(place: Place, server: ModelServer) -> list[e.AnyFact]:
    return await _in_a_chat(place, server, ANN, "7")


async def in_a_chat_as_a_guest(place: Place, server: ModelServer) -> list[e.AnyFact]:
    """What asks, asks in the owner's chat, 7; a button in the guest's own would be an approval by a guest."""
    return await _in_a_chat(place, server, BEN, "8")


async def _in_a_chat(place: Place, server: ModelServer, who: IncomingSender, chat: str) -> list[e.AnyFact]:
    far = FarEnd()
    settings = replace(OPEN, workspace=str(place.workspace))
    async with town(place.folder, server, far, settings, sets=place.sets) as life:
        await life.says("/status", chat="7")
        await life.answered(1, "7")
        saying_no = asyncio.create_task(_says_no(life, far))
        await life.says(TOLD, chat=chat, sender=who)
        await far.when(lambda far: any("Done." in text for text in far.texts(chat)))
        saying_no.cancel()
        await life.settled()
        if chat != "7":
            assert not any(one.buttons for one in far.in_chat(chat))
        return await life.facts(chat)


async def _says_no(life: Town, far: FarEnd) -> None:
    """The owner presses the last button, which refuses, of every question in their chat."""
    answered: set[str] = set()
    while True:
        await far.when(lambda far: any(one.buttons and one.id not in answered for one in far.in_chat("7")))
        for one in far.in_chat("7"):
            if one.buttons and one.id not in answered:
                answered.add(one.id)
                assert await life.says(Pressed(one.buttons[-1].value), chat="7") in ("Refused", "")


DOORS: tuple[Obeyed, ...] = (at_the_terminal, in_an_editor, in_a_chat_as_its_owner, in_a_chat_as_a_guest)
